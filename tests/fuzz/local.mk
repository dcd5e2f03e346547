# SPDX-License-Identifier: Apache-2.0
# One program a parser. Without --enable-fuzzing fuzz_main.c feeds it the corpus, by replay.sh.
fuzz_targets = \
	%D%/fuzz_control \
	%D%/fuzz_cred \
	%D%/fuzz_format \
	%D%/fuzz_fuse \
	%D%/fuzz_gs \
	%D%/fuzz_http \
	%D%/fuzz_image \
	%D%/fuzz_json \
	%D%/fuzz_live \
	%D%/fuzz_otlp \
	%D%/fuzz_requests \
	%D%/fuzz_results \
	%D%/fuzz_s3 \
	%D%/fuzz_sim \
	%D%/fuzz_socket \
	%D%/fuzz_suite \
	%D%/fuzz_tar \
	%D%/fuzz_uri \
	%D%/fuzz_xml \
	%D%/fuzz_yaml \
	$(NULL)
fuzz_tests = %D%/replay.sh
check_PROGRAMS += $(fuzz_targets)
all_tests += $(fuzz_tests)
# What --enable-fuzzing is for.
fuzz-programs: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) $(fuzz_targets)
.PHONY: fuzz-programs
EXTRA_DIST += $(fuzz_tests) %D%/fuzz.sh %D%/corpus %D%/dict %D%/fuzz_main.c

fuzz_common = %D%/fuzz.c %D%/fuzz.h
if FUZZING
fuzz_ldflags = $(AM_LDFLAGS) -fsanitize=fuzzer
else
fuzz_ldflags = $(AM_LDFLAGS)
fuzz_common += %D%/fuzz_main.c
endif
# The doors that script_http.c, fake_s3.c, script_door.c and script_cred.c stand in for.
FUZZ_DOOR = -Wl,--wrap=http_open,--wrap=http_stop,--wrap=http_close,--wrap=http_submit \
	-Wl,--wrap=http_pace,--wrap=http_stats,--wrap=http_running_ms,--wrap=http_transfers_most \
	-Wl,--wrap=http_set_connections,--wrap=http_reach
FUZZ_SCRIPT = $(FUZZ_DOOR) -Wl,--wrap=http_once,--wrap=usleep,--wrap=cred_exec
FUZZ_KEYS = -Wl,--wrap=cred_chain_open,--wrap=cred_chain_close,--wrap=cred_chain_get,--wrap=cred_chain_now,--wrap=cred_chain_skew \
	-Wl,--wrap=cred_chain_forget,--wrap=cred_chain_renew,--wrap=cred_chain_why,--wrap=cred_chain_about,--wrap=cred_chain_file,--wrap=cred_chain_region \
	-Wl,--wrap=cred_chain_endpoint,--wrap=cred_chain_ca_bundle,--wrap=cred_chain_fips \
	-Wl,--wrap=cred_chain_dualstack,--wrap=cred_chain_sums_when_required
# What script_socket.c stands in for, the door being the real one.
FUZZ_SOCKET = -Wl,--wrap=http_open,--wrap=http_close,--wrap=http_submit \
	-Wl,--wrap=curl_easy_setopt,--wrap=epoll_wait,--wrap=socket,--wrap=clock_gettime,--wrap=time,--wrap=getrandom \
	-Wl,--wrap=pthread_create,--wrap=pthread_join
# What fuzz_socket.c stands in for, so that loop and clients are one thread.
FUZZ_LOOP = -Wl,--wrap=control_reply,--wrap=pthread_create,--wrap=pthread_join,--wrap=poll,--wrap=accept4,--wrap=getsockopt \
	-Wl,--wrap=__poll_chk,--wrap=clock_gettime
fuzz_script = %D%/script_http.c %D%/script_door.c %D%/script_http.h

%C%_fuzz_control_SOURCES = %D%/fuzz_control.c $(fuzz_common)
%C%_fuzz_control_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_control_LDADD = fs/base/libbase.la
%C%_fuzz_cred_SOURCES = %D%/fuzz_cred.c $(fuzz_common) $(fuzz_script)
%C%_fuzz_cred_LDFLAGS = $(fuzz_ldflags) $(FUZZ_SCRIPT) -Wl,--wrap=home_path,--wrap=json_write_file
%C%_fuzz_cred_LDADD = fs/store/libstore.la
%C%_fuzz_format_SOURCES = %D%/fuzz_format.c $(fuzz_common)
%C%_fuzz_format_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_format_LDADD = bench/libbench.la
%C%_fuzz_fuse_SOURCES = %D%/fuzz_fuse.c %D%/fake_s3.c %D%/fake_s3.h %D%/script_cred.c %D%/script_door.c $(fuzz_common)
%C%_fuzz_fuse_CFLAGS = $(AM_CFLAGS) $(FUSE_CFLAGS)
%C%_fuzz_fuse_LDFLAGS = $(fuzz_ldflags) $(FUZZ_DOOR) $(FUZZ_KEYS)
%C%_fuzz_fuse_LDADD = fs/mount/libmount.la
%C%_fuzz_gs_SOURCES = %D%/fuzz_gs.c %D%/script_cred.c %D%/store_ops.c %D%/store_ops.h $(fuzz_common) $(fuzz_script)
%C%_fuzz_gs_LDFLAGS = $(fuzz_ldflags) $(FUZZ_SCRIPT) $(FUZZ_KEYS)
%C%_fuzz_gs_LDADD = fs/store/libstore.la
%C%_fuzz_http_SOURCES = %D%/fuzz_http.c %D%/script_cred.c %D%/script_http.h %D%/script_peer.c %D%/script_peer.h \
	%D%/script_socket.c %D%/store_ops.c %D%/store_ops.h $(fuzz_common)
%C%_fuzz_http_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
%C%_fuzz_http_LDFLAGS = $(fuzz_ldflags) $(FUZZ_SOCKET) $(FUZZ_KEYS)
%C%_fuzz_http_LDADD = fs/store/libstore.la $(CURL_LIBS)
%C%_fuzz_image_SOURCES = %D%/fuzz_image.c $(fuzz_common)
%C%_fuzz_image_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_image_LDADD = bench/libbench.la
%C%_fuzz_json_SOURCES = %D%/fuzz_json.c $(fuzz_common)
%C%_fuzz_json_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_json_LDADD = fs/base/libbase.la
%C%_fuzz_live_SOURCES = %D%/fuzz_live.c fs/ctl/ctl.h fs/ctl/live.c fs/ctl/live.h fs/ctl/live_find.c fs/ctl/live_show.c \
	fs/ctl/util.c $(fuzz_common)
%C%_fuzz_live_LDFLAGS = $(fuzz_ldflags) -Wl,--wrap=control_connect,--wrap=live_mounts_get
%C%_fuzz_live_LDADD = fs/store/libstore.la fs/base/libbase.la
%C%_fuzz_otlp_SOURCES = %D%/fuzz_otlp.c $(fuzz_common)
%C%_fuzz_otlp_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_otlp_LDADD = fs/mount/libmount.la
%C%_fuzz_requests_SOURCES = %D%/fuzz_requests.c $(fuzz_common)
%C%_fuzz_requests_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_requests_LDADD = bench/sim/libsim.la
%C%_fuzz_results_SOURCES = %D%/fuzz_results.c $(fuzz_common)
%C%_fuzz_results_LDFLAGS = $(fuzz_ldflags) -Wl,--wrap=plot_svg
%C%_fuzz_results_LDADD = bench/libbench.la
%C%_fuzz_s3_SOURCES = %D%/fuzz_s3.c %D%/script_cred.c %D%/store_ops.c %D%/store_ops.h $(fuzz_common) $(fuzz_script)
%C%_fuzz_s3_LDFLAGS = $(fuzz_ldflags) $(FUZZ_SCRIPT) $(FUZZ_KEYS)
%C%_fuzz_s3_LDADD = fs/store/libstore.la
%C%_fuzz_sim_SOURCES = %D%/fuzz_sim.c $(fuzz_common)
%C%_fuzz_sim_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_sim_LDADD = bench/sim/libsim.la
%C%_fuzz_socket_SOURCES = %D%/fuzz_socket.c $(fuzz_common)
%C%_fuzz_socket_LDFLAGS = $(fuzz_ldflags) $(FUZZ_LOOP)
%C%_fuzz_socket_LDADD = fs/mount/libmount.la
%C%_fuzz_suite_SOURCES = %D%/fuzz_suite.c $(fuzz_common)
%C%_fuzz_suite_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_suite_LDADD = bench/libbench.la
%C%_fuzz_tar_SOURCES = %D%/fuzz_tar.c $(fuzz_common)
%C%_fuzz_tar_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_tar_LDADD = bench/libbench.la
%C%_fuzz_uri_SOURCES = %D%/fuzz_uri.c %D%/script_cred.c $(fuzz_common) $(fuzz_script)
%C%_fuzz_uri_LDFLAGS = $(fuzz_ldflags) $(FUZZ_SCRIPT) $(FUZZ_KEYS)
%C%_fuzz_uri_LDADD = fs/store/libstore.la
%C%_fuzz_xml_SOURCES = %D%/fuzz_xml.c $(fuzz_common)
%C%_fuzz_xml_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_xml_LDADD = fs/base/libbase.la
%C%_fuzz_yaml_SOURCES = %D%/fuzz_yaml.c $(fuzz_common)
%C%_fuzz_yaml_LDFLAGS = $(fuzz_ldflags)
%C%_fuzz_yaml_LDADD = fs/base/libbase.la
