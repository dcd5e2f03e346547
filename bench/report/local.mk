# SPDX-License-Identifier: Apache-2.0
bench_libbench_la_SOURCES += \
	%D%/compare.c \
	%D%/compare.h \
	%D%/doc.c \
	%D%/doc.h \
	%D%/job.c \
	%D%/job.h \
	%D%/job_labels.c \
	%D%/job_labels.h \
	%D%/plot.c \
	%D%/plot.h \
	%D%/report.c \
	%D%/report.h \
	%D%/runs.c \
	%D%/runs.h \
	%D%/shards_page.c \
	%D%/shards_table.c \
	%D%/shards_table.h \
	$(NULL)
