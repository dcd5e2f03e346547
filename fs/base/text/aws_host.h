/* SPDX-License-Identifier: Apache-2.0 */
/* aws_host.h: the names of Amazon's servers. The regions of a partition (China, the European
 * sovereign cloud, isolated ones) have domains of their own. */
#ifndef CKPTFS_BASE_AWS_HOST_H
#define CKPTFS_BASE_AWS_HOST_H

#include <stdbool.h>

#include "base/buf.h"

/* The domain of a region, "amazonaws.com" for one that is not known. */
const char *aws_domain(const char *region);
/* Whether the servers of S3 there have names for FIPS. */
bool aws_has_s3_fips(const char *region);
/* Appends "https://SERVICE.REGION.DOMAIN", by the rules that all services but S3 follow. */
void aws_service_url(struct buf *url, const char *service, const char *region, bool fips,
                     bool dualstack);

#endif
