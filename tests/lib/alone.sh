#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# alone.sh COMMAND...: in a mount namespace that was just made: runs the command without the mounts of other tests. One
# that stayed here would outlive its umount there, and its daemon would not end before the namespace does.
awk '$3 ~ /^fuse/ { print $2 }' /proc/self/mounts | while read -r other; do umount -l "$other"; done
exec "$@"
