#!/bin/bash
# Builds mediasoup-worker from the source inside the npm package mediasoup, against Debian's
# libraries, with nothing but the package mirror that apt is configured for.
#   build.sh <work folder> <output binary> <folder of the npm package mediasoup>
# apt-packages.txt lists what must be installed. JOBS limits the compilers that run at a time.
# Lines that begin with "== " are for people, "!! " is the reason of a failure.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -eq 3 ] || { echo "!! usage: build.sh <work folder> <output binary> <mediasoup package folder>"; exit 2; }
WORK=$(mkdir -p "$1" && cd "$1" && pwd)
OUT=$(realpath -m "$2")
PACKAGE=$(cd "$3" && pwd)
JOBS=${JOBS:-$(nproc)}

say() { echo "== $*"; }
fail() { echo "!! $*"; exit 1; }

# Debian's or Ubuntu's archive first; other sources that apt knows are tried after it.
mirrors() {
  [ -n "${DEBIAN_MIRROR:-}" ] && echo "$DEBIAN_MIRROR"
  apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' |
    awk '$1 == "Debian" || $1 == "Ubuntu" { print "0 " $NF; next } { print "1 " $NF }' |
    sort -u | awk '$2 ~ /^https?:/ && !seen[$2]++ { print $2 }'
}

# fetch <name> <sha256> <path>...: the first path under any mirror that has exactly that content
fetch() {
  local name=$1 sum=$2 mirror path
  shift 2
  while read -r mirror; do
    for path in "$@"; do
      if curl -fsSL --retry 2 --connect-timeout 15 -m 120 -o "$WORK/$name" "${mirror%/}/$path" &&
        echo "$sum  $WORK/$name" | sha256sum -c --quiet; then
        return 0
      fi
    done
  done < <(mirrors)
  return 1
}

# The worker wants meson >= 1.1.0, bookworm has 1.0.1; the newer package is for all architectures,
# so unpacking it is enough.
find_meson() {
  if [ -x /usr/bin/meson ] && dpkg --compare-versions "$(/usr/bin/python3 /usr/bin/meson --version)" ge 1.1.0; then
    meson() { PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 /usr/bin/meson "$@"; }
    return
  fi
  fetch meson.deb e92d04e60e784336883d537755d09b7dcb856809fa318a0931df3898e84ded95 \
    pool/main/m/meson/meson_1.7.0-1_all.deb pool/universe/m/meson/meson_1.7.0-1_all.deb ||
    fetch meson.deb 4b86d2f2cb4431d03826fa4b2c3a89508edeb8140509e7e4b285285ec3175bbe \
      'pool/main/m/meson/meson_1.7.0-1~bpo12+1_all.deb' ||
    fail "meson 1.1 or newer could not be fetched from the package mirror: check the network."
  dpkg -x "$WORK/meson.deb" "$WORK/meson"
  meson() {
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$WORK/meson/usr/lib/python3/dist-packages" \
      /usr/bin/python3 "$WORK/meson/usr/bin/meson" "$@"
  }
}

fetch_libsrtp() {
  fetch libsrtp2.tar.gz 54facb1727a557c2a76b91194dcb2d0a453aaf8e2d0cbbf1e3c2848c323e28ad \
    pool/main/libs/libsrtp2/libsrtp2_2.7.0.orig.tar.gz pool/universe/libs/libsrtp2/libsrtp2_2.7.0.orig.tar.gz ||
    fail "the source of libsrtp 2.7.0 could not be fetched from the package mirror: check the network."
  mkdir -p "$SOURCE/subprojects/libsrtp2"
  tar xzf "$WORK/libsrtp2.tar.gz" -C "$SOURCE/subprojects/libsrtp2" --strip-components=1
}

# Debian's OpenSSL has kernel TLS compiled in. It asks the BIO (BIO_CTRL_GET_KTLS_SEND),
# and the worker's BIO callback answers 1 to every control call, which makes libssl
# take no write buffer: SIGSEGV at the first DTLS handshake. The callback must hand
# the value through after every operation, not only for operationType == BIO_CB_RETURN.
patch_dtls() {
  local file=$SOURCE/src/RTC/DtlsTransport.cpp
  sed -i 's/(operationType == BIO_CB_RETURN) ? static_cast<long>(ret) : 1/((operationType \& BIO_CB_RETURN) != 0) ? static_cast<long>(ret) : 1/' "$file"
  grep -q 'operationType & BIO_CB_RETURN' "$file" ||
    fail "the patch of DtlsTransport.cpp does not fit this version of mediasoup."
  say "patched DtlsTransport.cpp for kernel TLS"
}

say "sources"
SOURCE=$WORK/worker
rm -rf "$SOURCE"
cp -R "$PACKAGE/worker" "$SOURCE"
chmod -R u+w "$SOURCE"
rm -f "$SOURCE"/subprojects/*.wrap
cp -R "$HERE/subprojects/." "$SOURCE/subprojects/"
find_meson
fetch_libsrtp
patch_dtls

say "configuring"
cd "$SOURCE"
meson setup --wrap-mode=nodownload --buildtype release -Db_ndebug=true \
  "-Dcpp_link_args=-static-libstdc++ -static-libgcc" build ||
  fail "meson could not configure the build."
say "compiling"
# First and on its own: deps/libwebrtc includes these headers without depending on them.
meson compile -C build flatbuffers-generator || fail "the FlatBuffers headers could not be generated."
ninja -C build -j "$JOBS" mediasoup-worker || fail "the compiler failed."
mkdir -p "$(dirname "$OUT")"
strip -o "$OUT.new" build/mediasoup-worker
# Without MEDIASOUP_VERSION in its environment it exits with 41.
status=0
env -i "$OUT.new" > /dev/null 2>&1 || status=$?
[ "$status" = 41 ] || fail "the binary ends with status $status instead of 41."
mv "$OUT.new" "$OUT"
say "done: $(stat -c %s "$OUT") bytes"
