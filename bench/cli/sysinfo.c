/* SPDX-License-Identifier: Apache-2.0 */
/* sysinfo.c: see sysinfo.h. */
#include "bench/cli/sysinfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/core/cpu.h"
#include "store.h"

#include "base/banned.h"

/* clang's own text begins with its name, gcc's is the number alone. */
#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

void sysinfo_add(const struct coll *c, struct json *to)
{
        char text[256], nccl[64];
        struct utsname u;
        struct json *v = json_add_object(to, "versions"), *m = json_add_object(to, "machine");

        json_add_string(v, "ckptfs", PACKAGE_VERSION);
        c->ops->version(text, sizeof text);
        json_add_string(v, "collectives", text);
        coll_libraries(text, sizeof text, nccl, sizeof nccl);
        json_add_string(v, "mpi", text);
        json_add_string(v, "nccl", nccl);
        store_http_library(text, sizeof text);
        json_add_string(v, "libcurl", text);
        json_add_string(v, "openssl", digest_library());
        json_add_string(v, "compiler", COMPILER);
        if (!uname(&u)) {
                json_add_string(v, "kernel", u.release);
                json_add_string(m, "host", u.nodename);
                json_add_string(m, "architecture", u.machine);
        }
        cpu_name(text, sizeof text);
        json_add_string(m, "cpu", text);
        json_add_number(m, "cores", cpu_cores());
        json_add_number(m, "cores_online", cpu_cores_online());
        json_add_number(m, "memory_bytes",
                        (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
}

/* The firmware of every instance that is a virtual or bare machine of the vendor says so. */
static bool looks_like_ec2(void)
{
        char vendor[64] = "";
        const char *asked = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
        CLEANUP(fclosep) FILE *f = fopen("/sys/class/dmi/id/sys_vendor", "re");

        return (asked && *asked) ||
               (f && fgets(vendor, sizeof vendor, f) && !strncmp(vendor, "Amazon EC2", 10));
}

void sysinfo_add_ec2(struct json *to)
{
        struct store_ec2 ec2;
        char why[512];

        if (!looks_like_ec2() || store_ec2_machine(&ec2, why, sizeof why)) {
                json_add_null(to, "ec2_metadata");
                return;
        }
        struct json *o = json_add_object(to, "ec2_metadata");
        json_add_string(o, "architecture", ec2.architecture);
        json_add_string(o, "image_id", ec2.image_id);
        json_add_string(o, "instance_type", ec2.instance_type);
        json_add_string(o, "region", ec2.region);
}
