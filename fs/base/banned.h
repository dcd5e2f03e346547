/* SPDX-License-Identifier: Apache-2.0 */
/* banned.h: functions that overflow, keep hidden state or guess a locale are build errors.
 * Included last by every .c file of ours. */
#ifndef CKPTFS_BASE_BANNED_H
#define CKPTFS_BASE_BANNED_H

#define BANNED(fn) sorry_##fn##_is_banned

#undef strcpy
#define strcpy(d, s) BANNED(strcpy)
#undef strcat
#define strcat(d, s) BANNED(strcat)
#undef strncpy
#define strncpy(d, s, n) BANNED(strncpy)
#undef strncat
#define strncat(d, s, n) BANNED(strncat)
#undef strtok
#define strtok(s, d) BANNED(strtok)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf)
#undef gmtime
#define gmtime(t) BANNED(gmtime)
#undef localtime
#define localtime(t) BANNED(localtime)
#undef ctime
#define ctime(t) BANNED(ctime)
#undef asctime
#define asctime(t) BANNED(asctime)
#undef atoi
#define atoi(s) BANNED(atoi)
#undef atol
#define atol(s) BANNED(atol)
#undef alloca
#define alloca(n) BANNED(alloca)

#endif
