/* SPDX-License-Identifier: Apache-2.0 */
/* commit_phase.c: see commit_phase.h. */
#include "mount/write/commit_phase.h"

#include "base/banned.h"

#define TO(phase) (1U << COMMIT_##phase)

static const struct {
        const char *name;
        bool final;
        unsigned next;
} phases[COMMIT_PHASES] = {
        [COMMIT_IDLE] = {"idle", false, TO(PLANNING)},
        [COMMIT_PLANNING] = {"planning", false, TO(SENDING) | TO(FAILING) | TO(IDLE)},
        [COMMIT_SENDING] = {"sending", false,
                            TO(CLAIMING) | TO(PUBLISHING) | TO(PLANNING) | TO(LOOKING) |
                                    TO(RECORDING) | TO(FAILING) | TO(IDLE)},
        [COMMIT_CLAIMING] = {"claiming", false,
                             TO(SENDING) | TO(PLANNING) | TO(FAILING) | TO(IDLE)},
        [COMMIT_PUBLISHING] = {"publishing", true,
                               TO(IDLE) | TO(MOVING) | TO(PLANNING) | TO(LOOKING) | TO(RECORDING) |
                                       TO(FAILING)},
        [COMMIT_MOVING] = {"moving", true, TO(IDLE) | TO(REMOVING) | TO(FAILING)},
        [COMMIT_REMOVING] = {"removing", true, TO(IDLE) | TO(PLANNING) | TO(FAILING)},
        [COMMIT_LOOKING] = {"looking", false, TO(PLANNING) | TO(FAILING) | TO(IDLE)},
        [COMMIT_RECORDING] = {"recording", true, TO(PLANNING) | TO(FAILING)},
        [COMMIT_FAILING] = {"failing", false, TO(IDLE)},
};

const char *commit_phase_name(enum commit_phase p)
{
        return phases[p].name;
}

bool commit_phase_leads_to(enum commit_phase from, enum commit_phase to)
{
        return phases[from].next >> to & 1U;
}

bool commit_phase_is_final(enum commit_phase p)
{
        return phases[p].final;
}
