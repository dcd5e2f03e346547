# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/train.c \
	%D%/train_copy.c \
	%D%/train_copy.h \
	%D%/train_delay.c \
	%D%/train_delay.h \
	%D%/train_keys.c \
	%D%/train_keys.h \
	%D%/train_resume.c \
	%D%/train_resume.h \
	%D%/train_save.c \
	%D%/train_save.h \
	%D%/train_stage.c \
	%D%/train_stage.h \
	%D%/train_table.c \
	%D%/train_table.h \
	%D%/train_writer.c \
	%D%/train_writer.h \
	$(NULL)
