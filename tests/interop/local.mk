# SPDX-License-Identifier: Apache-2.0
# libstore and mounts against servers of other hands.
interop_tests = \
	%D%/fake_gcs_server.sh \
	%D%/gcs_clients.sh \
	%D%/gcs_clients_fake.sh \
	%D%/localstack.sh \
	%D%/minio.sh \
	%D%/mount_fake_gcs_server.sh \
	%D%/mount_localstack.sh \
	%D%/mount_minio.sh \
	%D%/mount_radosgw.sh \
	%D%/mount_versitygw.sh \
	%D%/radosgw.sh \
	%D%/rclone.sh \
	%D%/rclone_gs.sh \
	%D%/s3_clients.sh \
	%D%/s3fs.sh \
	%D%/versitygw.sh \
	$(NULL)
all_tests += $(interop_tests)
EXTRA_DIST += \
	$(interop_tests) \
	%D%/clients.txt \
	%D%/gcs_clients.py \
	%D%/localstack.txt \
	%D%/radosgw_cluster.sh \
	%D%/s3_clients.py \
	%D%/venv_setup.sh \
	$(NULL)
