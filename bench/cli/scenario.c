/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.c: the table of scenarios. */
#include <stdio.h>
#include <string.h>

#include "bench/core/run.h"

#include "base/banned.h"

const struct scenario *const scenarios[] = {&scenario_shards,
                                            &scenario_ceiling,
                                            &scenario_firstbyte,
                                            &scenario_list,
                                            &scenario_small,
                                            &scenario_dcp,
                                            &scenario_dcp_ddp_save,
                                            &scenario_dcp_ddp_load,
                                            &scenario_dcp_fsdp_save,
                                            &scenario_dcp_fsdp_load,
                                            &scenario_pytorch_checkpointing,
                                            &scenario_lightning_checkpointing,
                                            &scenario_lightning_async,
                                            &scenario_lightning_multinode,
                                            &scenario_lightning_singlenode,
                                            &scenario_simulated,
                                            &scenario_mlperf,
                                            &scenario_async,
                                            &scenario_train,
                                            &scenario_restore,
                                            &scenario_datagen,
                                            &scenario_dataset,
                                            &scenario_load,
                                            &scenario_selfcheck};
const size_t scenario_count = sizeof scenarios / sizeof scenarios[0];

const struct scenario *scenario_find(const char *name)
{
        for (size_t i = 0; i < scenario_count; i++)
                if (!strcmp(scenarios[i]->name, name))
                        return scenarios[i];
        return NULL;
}
