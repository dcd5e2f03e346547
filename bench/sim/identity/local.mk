# SPDX-License-Identifier: Apache-2.0
bench_sim_libsim_la_SOURCES += \
	%D%/identity.c \
	%D%/identity.h \
	%D%/identity_aws.c \
	%D%/identity_google.c \
	%D%/identity_i.h \
	%D%/identity_issue.c \
	%D%/identity_sts.c \
	%D%/jwt.c \
	%D%/jwt.h \
	$(NULL)
