# SPDX-License-Identifier: Apache-2.0
# The real libraries on the mount. docs/testing.md says what they need.
trainers_tests = \
	%D%/dcp.sh \
	%D%/files.sh \
	%D%/formats.sh \
	%D%/hf_trainer.sh \
	%D%/hub.sh \
	%D%/lightning.sh \
	%D%/orbax.sh \
	%D%/replay.sh \
	%D%/safetensors.sh \
	%D%/tables.sh \
	%D%/tensorboard.sh \
	%D%/torch.sh \
	%D%/two_mounts.sh \
	%D%/versitygw.sh \
	$(NULL)
all_tests += $(trainers_tests)

EXTRA_DIST += \
	$(trainers_tests) \
	%D%/cuda_stubs.py \
	%D%/dcp.py \
	%D%/formats.py \
	%D%/hf.py \
	%D%/hub.py \
	%D%/orbax_files.py \
	%D%/pl.py \
	%D%/replay.py \
	%D%/requirements-0.7.txt \
	%D%/requirements.txt \
	%D%/rows \
	%D%/run \
	%D%/setup.sh \
	%D%/several.py \
	%D%/speed.py \
	%D%/st.py \
	%D%/table.sh \
	%D%/tables.py \
	%D%/tb.py \
	%D%/torch_files.py \
	%D%/trainers.sh \
	%D%/trial.py \
	$(NULL)

check_PROGRAMS += %D%/rounds
%C%_rounds_SOURCES = %D%/rounds.c
