#!/bin/bash
# Builds mediasoup-worker from the source inside the npm package mediasoup against Debian's libraries.
#   build.sh <work folder> <output binary> <folder of the npm package mediasoup>
# The package mirror that apt uses is the only network source. apt-packages.txt lists the required packages.
# JOBS limits the number of parallel compilers.
# Lines that start with "== " report progress, a line that starts with "!! " gives the reason of a failure.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -eq 3 ] || { echo "!! usage: build.sh <work folder> <output binary> <mediasoup package folder>"; exit 2; }
WORK=$(mkdir -p "$1" && cd "$1" && pwd)
OUT=$(realpath -m "$2")
PACKAGE=$(cd "$3" && pwd)
JOBS=${JOBS:-$(nproc)}

say() { echo "== $*"; }
fail() { echo "!! $*"; exit 1; }

# Lists the archives of Debian and Ubuntu first, then the other sources of apt.
mirrors() {
  [ -n "${DEBIAN_MIRROR:-}" ] && echo "$DEBIAN_MIRROR"
  apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' |
    awk '$1 == "Debian" || $1 == "Ubuntu" { print "0 " $NF; next } { print "1 " $NF }' |
    sort -u | awk '$2 ~ /^https?:/ && !seen[$2]++ { print $2 }'
}

# fetch <name> <sha256> <path>...: downloads the first path on any mirror that has this checksum
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

# The worker requires meson >= 1.1.0, bookworm has 1.0.1. The newer package is architecture-independent,
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

# Debian's OpenSSL is compiled with kernel TLS. It queries the BIO (BIO_CTRL_GET_KTLS_SEND), and the
# worker's BIO callback returns 1 for every control call, so libssl allocates no write buffer and the
# first DTLS handshake ends in SIGSEGV. The callback must return the value of the operation after every
# operation, not only for operationType == BIO_CB_RETURN.
patch_dtls() {
  local file=$SOURCE/src/RTC/DtlsTransport.cpp
  sed -i 's/(operationType == BIO_CB_RETURN) ? static_cast<long>(ret) : 1/((operationType \& BIO_CB_RETURN) != 0) ? static_cast<long>(ret) : 1/' "$file"
  grep -q 'operationType & BIO_CB_RETURN' "$file" ||
    fail "the patch of DtlsTransport.cpp does not apply to this version of mediasoup."
  say "patched DtlsTransport.cpp for kernel TLS"
}

# group_sources <folder> <list> <count>: replaces a source list of <folder>/meson.build by <count> files
# that include the listed sources (unity build). Parsing the headers takes most of the CPU time, and a
# group parses them once. Sources are dealt out in turn because neighbours in the list often define static
# helpers of the same name, which must not meet in one group.
group_sources() {
  local folder=$1 list=$2 count=$3 index sources groups=()
  mapfile -t sources < <(sed -n "/^$list = \[/,/^[a-z_]* = \(subproject\|declare_dependency\)(/ s/^ *'\(.*\.c[cp]*\)',\$/\1/p" "$folder/meson.build")
  [ "${#sources[@]}" -ge "$count" ] || fail "the source list $list was not found in this version of mediasoup."
  mkdir -p "$folder/groups"
  for ((index = 0; index < ${#sources[@]}; index++)); do
    # Every source of the worker defines MS_CLASS, the name in its log lines.
    printf '#undef MS_CLASS\n#include "../%s"\n' "${sources[index]}" >> "$folder/groups/group$((index % count)).cpp"
  done
  for ((index = 0; index < count; index++)); do groups+=("'groups/group$index.cpp',"); done
  cp "$folder/meson.build" "$folder/meson.build.ungrouped"
  # Before the first statement that uses the list.
  sed -i "0,/^[a-z_]* = subproject(/s//$list = [${groups[*]//\//\\/}]\n&/" "$folder/meson.build"
}

configure() {
  say "configuring"
  meson setup --wrap-mode=nodownload --buildtype release -Db_ndebug=true --warnlevel 0 \
    "-Dcpp_link_args=-static-libstdc++ -static-libgcc" build ||
    fail "meson could not configure the build."
  # First and separately: deps/libwebrtc includes these headers without depending on them.
  meson compile -C build flatbuffers-generator || fail "the FlatBuffers headers could not be generated."
}

# Compiles the worker in groups; where a group does not compile (another version of mediasoup may define a
# name twice) compiles each source separately.
compile_worker() {
  say "compiling"
  ninja -C build -j "$JOBS" mediasoup-worker && return
  say "compiling in groups failed, compiling each source separately"
  local folder
  for folder in . deps/libwebrtc; do mv "$folder/meson.build.ungrouped" "$folder/meson.build"; done
  rm -rf build
  configure
  ninja -C build -j "$JOBS" mediasoup-worker
}

say "copying the sources"
SOURCE=$WORK/worker
rm -rf "$SOURCE"
cp -R "$PACKAGE/worker" "$SOURCE"
chmod -R u+w "$SOURCE"
rm -f "$SOURCE"/subprojects/*.wrap
cp -R "$HERE/subprojects/." "$SOURCE/subprojects/"
find_meson
fetch_libsrtp
patch_dtls
group_sources "$SOURCE" common_sources 12
group_sources "$SOURCE/deps/libwebrtc" libwebrtc_sources 3

cd "$SOURCE"
configure
compile_worker || fail "the compiler failed."
ninja -C build subprojects/libsrtp3/srtp3-adapter-test || fail "the test of the libsrtp adapter does not compile."
build/subprojects/libsrtp3/srtp3-adapter-test || fail "the test of the libsrtp adapter failed."
mkdir -p "$(dirname "$OUT")"
strip -o "$OUT.new" build/mediasoup-worker
# The worker exits with 41 when MEDIASOUP_VERSION is missing in its environment.
status=0
env -i "$OUT.new" > /dev/null 2>&1 || status=$?
[ "$status" = 41 ] || fail "the binary exits with status $status instead of 41."
mv "$OUT.new" "$OUT"
say "done: $(stat -c %s "$OUT") bytes"
