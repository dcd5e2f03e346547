# SPDX-License-Identifier: Apache-2.0
# What makes packages of the archive; debian/ has to stand where dpkg-buildpackage looks.
EXTRA_DIST += \
	%D%/Containerfile \
	%D%/README.md \
	%D%/ckptfs.spec \
	%D%/sbom.awk \
	debian/changelog \
	debian/ckptfs-bench.install \
	debian/ckptfs-dev.install \
	debian/ckptfs.dirs \
	debian/ckptfs.install \
	debian/control \
	debian/copyright \
	debian/libckptstore0.install \
	debian/libckptstore0.symbols \
	debian/rules \
	debian/source/format \
	$(NULL)

# What others gave: their licences, and which of it is in this build. Those without pkg-config have no version here.
dist_doc_DATA = %D%/THIRD-PARTY
nodist_doc_DATA = %D%/ckptfs.cdx.json
CLEANFILES += %D%/ckptfs.cdx.json
%D%/ckptfs.cdx.json: %D%/THIRD-PARTY %D%/sbom.awk Makefile
	@$(MKDIR_P) %D%
	$(AM_V_GEN)for l in $(USED_LIBRARIES); do echo "$$l `$(PKG_CONFIG) --modversion $$l 2>/dev/null`"; done | \
		$(AWK) -v version='$(VERSION)' -f '$(srcdir)/%D%/sbom.awk' '$(srcdir)/%D%/THIRD-PARTY' - >$@.tmp && mv $@.tmp $@
