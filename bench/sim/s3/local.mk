# SPDX-License-Identifier: Apache-2.0
bench_sim_libsim_la_SOURCES += \
	%D%/auth_v2.c \
	%D%/s3.h \
	%D%/s3_archive.c \
	%D%/s3_bucket.c \
	%D%/s3_checksum.c \
	%D%/s3_copy.c \
	%D%/s3_digest.c \
	%D%/s3_dispatch.c \
	%D%/s3_express.c \
	%D%/s3_list.c \
	%D%/s3_object.c \
	%D%/s3_radosgw.c \
	%D%/s3_sse.c \
	%D%/s3_upload.c \
	%D%/s3_version.c \
	%D%/s3_ways.c \
	%D%/s3_xml.c \
	$(NULL)
