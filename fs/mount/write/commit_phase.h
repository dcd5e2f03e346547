/* SPDX-License-Identifier: Apache-2.0 */
/* commit_phase.h: how far the commit of a file is, and what may follow.
 *
 *   IDLE -> PLANNING -> SENDING -> LOCKING -> SENDING -> PUBLISHING -> IDLE
 *
 * is a commit that nothing disturbs. All that may happen:
 *
 *   IDLE        a caller comes                                          -> PLANNING
 *   PLANNING    the plan is made                                        -> SENDING
 *   SENDING     all of the plan is at the store                         -> LOCKING
 *               the same, and the key is locked                         -> PUBLISHING
 *               the file was renamed, and its upload is begun anew      -> PLANNING
 *               the version that was changed is gone                    -> LOOKING
 *               it was found to be gone before, and the key is locked   -> RECORDING
 *   LOCKING     the key is locked, or was while the file was paused     -> SENDING
 *               the file was renamed, and its upload is begun anew      -> PLANNING
 *   PUBLISHING  it is the object                                        -> IDLE
 *               it is, under the name that the upload was begun with    -> MOVING
 *               another has that name, and all bytes are here           -> PLANNING
 *               the store does not append to this object                -> PLANNING
 *               the version that was changed is gone: bytes are missing -> LOOKING
 *               it is gone, and all bytes are at hand                   -> RECORDING
 *   MOVING      it is the object                                        -> IDLE
 *               it is a copy, or could not be moved                     -> REMOVING
 *   REMOVING    the copy is all that is left                            -> IDLE
 *               it could not be moved, and all bytes are here           -> PLANNING
 *   LOOKING     which version stands is known                           -> PLANNING
 *   RECORDING   it could not be recorded, and all bytes are here        -> PLANNING
 *               the version that stood is gone, too: bytes are missing  -> LOOKING
 *   FAILING     the callers are told, the version before it is the file -> IDLE
 *
 * Besides, every commit may fail (-> FAILING); one whose file is unlinked ends as soon as nothing
 * of it is under way (-> IDLE), unless it was PUBLISHING or later. */
#ifndef CKPTFS_MOUNT_COMMIT_PHASE_H
#define CKPTFS_MOUNT_COMMIT_PHASE_H

#include <stdbool.h>

enum commit_phase {
        COMMIT_IDLE,       /* no caller waits */
        COMMIT_PLANNING,   /* waits until no request is under way, then plans */
        COMMIT_SENDING,    /* what the plan asks for is sent and copied */
        COMMIT_LOCKING,    /* waits for others that change the key */
        COMMIT_PUBLISHING, /* the request that makes it the object is under way */
        COMMIT_MOVING,     /* it is moved from the name that its upload was begun with, */
        COMMIT_REMOVING,   /* or removed there */
        COMMIT_LOOKING,    /* its base is gone: which version stands is asked for */
        COMMIT_RECORDING,  /* its base is gone: it is not published, but recorded */
        COMMIT_FAILING,    /* it is given up */
        COMMIT_PHASES
};

const char *commit_phase_name(enum commit_phase p);
/* Whether a commit may go from one phase to the other. */
bool commit_phase_leads_to(enum commit_phase from, enum commit_phase to);
/* Whether a request is under way that may publish the file, or has: neither its name nor the
 * version before it may change meanwhile, and no failure ends it early. */
bool commit_phase_is_final(enum commit_phase p);

#endif
