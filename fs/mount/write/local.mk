# SPDX-License-Identifier: Apache-2.0
fs_mount_libmount_la_SOURCES += \
	%D%/commit.c \
	%D%/commit_phase.h \
	%D%/conflict_record.c \
	%D%/extent_map.c \
	%D%/extent_map.h \
	%D%/left_upload.c \
	%D%/left_upload.h \
	%D%/part_body.c \
	%D%/part_body.h \
	%D%/part_plan.c \
	%D%/part_plan.h \
	%D%/spill.c \
	%D%/spill.h \
	%D%/upload_part.c \
	%D%/upload_request.c \
	%D%/wfile.c \
	%D%/wfile.h \
	%D%/wfile_end.c \
	%D%/wfile_int.h \
	%D%/wfile_read.c \
	$(NULL)
