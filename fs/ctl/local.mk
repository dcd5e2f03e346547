# SPDX-License-Identifier: Apache-2.0
# ckptctl: what an administrator does past the mount.
bin_PROGRAMS += ckptctl
ckptctl_SOURCES = \
	%D%/commands.def \
	%D%/ctl.h \
	%D%/doctor.c \
	%D%/doctor.h \
	%D%/doctor_machine.c \
	%D%/doctor_speed.c \
	%D%/doctor_store.c \
	%D%/drain.c \
	%D%/leftovers.c \
	%D%/live.c \
	%D%/live.h \
	%D%/live_find.c \
	%D%/live_show.c \
	%D%/main.c \
	%D%/recover.c \
	%D%/renames.c \
	%D%/top.c \
	%D%/uploads.c \
	%D%/util.c \
	$(NULL)
ckptctl_LDADD = fs/move/libmove.la fs/store/libstore.la fs/base/libbase.la

# Prints the commands for the completion of bash.
noinst_PROGRAMS += %D%/gen_commands
%C%_gen_commands_SOURCES = %D%/commands.def %D%/gen_commands.c
