#!/usr/bin/env bash
# usage: tests/sanitizers/avx512.sh PROGRAM [ARGUMENT...]
# Runs a test program on an emulated processor with AVX-512, for machines whose own has none: Bochs starts a Linux kernel that
# has the program, its libraries and tests/golden in memory. It takes a hundred times as long as here, so choose tests:
#   tests/sanitizers/avx512.sh build/tests/test_ops --gtest_filter='Fft.ABatch*'
# Variables whose names begin with APSIS_ are passed on. Ends with the program's status. Needs the packages
#   bochs-sdl xorriso isolinux syslinux-common busybox-static cpio lz4
# and takes Debian's kernel from the package archive.
set -euo pipefail
source=$(readlink -f "$(dirname "$0")/../..")
program=$(readlink -f "$1")
shift
work=$(mktemp -d)
trap 'kill $(jobs -p) 2> /dev/null || true; rm -rf "$work"' EXIT
cd "$work"
for needed in bochs-bin xorriso busybox cpio lz4 /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32; do
  command -v "$needed" > /dev/null || [ -f "$needed" ] || { echo "$needed is missing: install the packages named in $0" >&2; exit 2; }
done

kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[^ ]*\)$/\1/p')
apt-get download -qq -o APT::Sandbox::User=root "$kernel"
dpkg -x "$kernel"_*.deb .

mkdir -p root/{bin,dev,proc,sys,tmp,lib,lib64} "root$source/tests" iso/isolinux
cp /bin/busybox root/bin/sh
cp -L /lib64/ld-linux-x86-64.so.2 root/lib64/
cp -r "$source/tests/golden" "root$source/tests/"
cp "$program" root/program
libraries() { ldd "$@" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | sort -u; }
directory=$(dirname "$(libraries "$program" | grep libapsis)")
opened="$directory/libapsis_llvm.so /usr/lib/x86_64-linux-gnu/openblas-serial/libopenblas.so.0"  # by the library, when needed
for file in $opened $(libraries "$program" $opened); do cp -L "$file" root/lib/; done
strip root/program root/lib/libapsis* 2> /dev/null || true
{
  echo '#!/bin/sh'
  printf 'busybox mount -t %s none %s\n' proc /proc sysfs /sys devtmpfs /dev
  echo "export LD_LIBRARY_PATH=/lib HOME=/tmp APSIS_NUM_THREADS=1"
  for name in $(compgen -e APSIS_ || true); do printf 'export %s=%q\n' "$name" "${!name}"; done
  printf '%q ' /program "$@"
  echo
  echo 'echo "status $?"'
  echo 'busybox sleep 2; busybox poweroff -f'  # after what was printed
} > root/init
ln -s sh root/bin/busybox
chmod +x root/init
(cd root && find . | cpio -o -H newc --quiet) | lz4 -l -1 -q > iso/memory
cp boot/vmlinuz-* iso/kernel
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 iso/isolinux/
# The emulator's compact form of saved registers (XSAVEC, XSAVES) has another size than the kernel counts.
cat > iso/isolinux/isolinux.cfg << 'END'
default apsis
label apsis
 kernel /kernel
 initrd /memory
 append console=ttyS0 loglevel=1 mitigations=off tsc=reliable clearcpuid=323,321
END
xorriso -as mkisofs -quiet -o disc -b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot -boot-load-size 4 \
  -boot-info-table iso 2> /dev/null
cat > machine << 'END'
cpu: model=corei7_skylake_x, ips=80000000, ignore_bad_msrs=1
megs: 2048
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios-stdvga.bin
ata0: enabled=1
ata0-master: type=cdrom, path=disc, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=printed
clock: sync=none
log: log
display_library: sdl2
END
echo c > continue
touch printed
SDL_VIDEODRIVER=dummy bochs-bin -q -f machine -rc continue > /dev/null 2>&1 &
tail -n +1 -f --pid=$! printed
status=$(sed -n 's/^status \([0-9]*\).*/\1/p' printed)
[ -n "$status" ] || { echo "the emulated machine ended before the program" >&2; tail -n 5 log >&2; }
exit "${status:-2}"
