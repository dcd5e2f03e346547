# SPDX-License-Identifier: Apache-2.0
# hardened.sh: whether a program or a library was built with what makes its defects harder to use; source it after
# tap.sh.
#
#   lacks_hardening FILE...     prints what each lacks, as its file says; nothing where all is there
lacks_hardening() {
	for file; do
		readelf -hldW "$file" >"$tmp/elf" 2>&1
		grep -qE '^ *Type: *DYN' "$tmp/elf" || echo "$file: is loaded where anybody can guess (no PIE)"
		grep -q GNU_RELRO "$tmp/elf" || echo "$file: relocations stay writable (no RELRO)"
		grep -qE '(BIND_NOW|FLAGS_1.*NOW)' "$tmp/elf" || echo "$file: addresses of functions stay writable (no BIND_NOW)"
		grep -qE 'GNU_STACK .* RW  ' "$tmp/elf" || echo "$file: the stack can be executed"
		readelf --dyn-syms -W "$file" >"$tmp/symbols" 2>&1
		grep -q ' __stack_chk_fail' "$tmp/symbols" || echo "$file: has no stack protector"
		[ "$(grep -cE ' __[a-z_]+_chk(@|$)' "$tmp/symbols")" -ge 4 ] || echo "$file: does not check sizes of buffers"
		case $(uname -m) in
		x86_64) objdump -d --no-show-raw-insn "$file" | grep -c endbr64 >"$tmp/landings" ;;
		aarch64) objdump -d --no-show-raw-insn "$file" | grep -cE 'bti|paciasp' >"$tmp/landings" ;;
		*) continue ;;
		esac
		[ "$(cat "$tmp/landings")" -ge 100 ] || echo "$file: has no control-flow protection"
	done
}
