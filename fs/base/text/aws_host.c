/* SPDX-License-Identifier: Apache-2.0 */
/* aws_host.c: see aws_host.h. Domains as in partitions.json and the endpoint rules of the vendor's
 * SDKs. */
#include "base/text/aws_host.h"

#include <string.h>

#include "base/banned.h"

static const struct partition {
        const char *regions; /* what their names begin with */
        const char *domain, *dualstack;
} partitions[] = {
        {"cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
        {"eusc-", "amazonaws.eu", "api.amazonwebservices.eu"},
        {"us-iso-", "c2s.ic.gov", "api.aws.ic.gov"},
        {"us-isob-", "sc2s.sgov.gov", "api.aws.scloud"},
        {"eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
        {"us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"},
        {"", "amazonaws.com", "api.aws"},
};

static bool begins(const char *region, const char *with)
{
        return !strncmp(region, with, strlen(with));
}

static const struct partition *partition_of(const char *region)
{
        const struct partition *p = partitions;
        while (!begins(region, p->regions))
                p++;
        return p;
}

const char *aws_domain(const char *region)
{
        return partition_of(region)->domain;
}

bool aws_has_s3_fips(const char *region)
{
        return !begins(region, "cn-");
}

void aws_service_url(struct buf *url, const char *service, const char *region, bool fips,
                     bool dualstack)
{
        const struct partition *p = partition_of(region);
        /* In GovCloud the usual names are those for FIPS. */
        bool marked = fips && (dualstack || !begins(region, "us-gov-"));

        buf_addf(url, "https://%s%s.%s.%s", service, marked ? "-fips" : "", region,
                 dualstack ? p->dualstack : p->domain);
}
