# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/datagen.c \
	%D%/dataset.c \
	%D%/dataset.h \
	%D%/dataset_keys.c \
	%D%/dataset_preflight.c \
	%D%/dataset_save.c \
	%D%/dataset_table.c \
	%D%/dataset_train.c \
	%D%/image.c \
	%D%/image.h \
	%D%/image_crop.c \
	%D%/image_crop.h \
	%D%/image_jpeg.c \
	%D%/loader.c \
	%D%/loader.h \
	%D%/sample.c \
	%D%/sample.h \
	%D%/sample_source.c \
	%D%/sample_source.h \
	%D%/sample_source_i.h \
	%D%/sample_source_read.c \
	%D%/sample_source_write.c \
	%D%/tar.c \
	%D%/tar.h \
	$(NULL)
