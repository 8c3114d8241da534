#!/bin/sh
# Backs up the database and the files of a running service.
#   DATABASE_URL=postgres://… tools/backup/backup.sh <new folder> [<recordings folder> [<call records folder>]]
# Needs pg_dump, at least of the server's major version, and tar. The service may run meanwhile.
set -eu

usage() {
  echo "usage: DATABASE_URL=postgres://… $0 <new folder> [<recordings folder> [<call records folder>]]" >&2
  exit 64
}
[ $# -ge 1 ] && [ $# -le 3 ] && [ -n "${DATABASE_URL:-}" ] || usage
target=${1%/}
recordings=${2:-}
records=${3:-}

if [ -e "$target" ]; then
  echo "$target exists already: each backup needs a new folder" >&2
  exit 1
fi
. "$(dirname "$0")/tls.sh"
umask 077
partial="$target.partial"
# An interrupted run may have left an incomplete archive.
rm -rf "$partial"
mkdir -p "$partial"

# The database first: every file that its rows name is complete by then. The dump is one snapshot.
pg_dump --dbname="$DATABASE_URL" --format=custom --no-owner --no-privileges --file="$partial/database.dump"

# .jobs holds recordings in progress, which belong to media nodes. A file that grows or is deleted meanwhile is no error.
archive() {
  status=0
  tar --create --gzip --exclude=./.jobs --exclude=./lost+found --file="$partial/$1.tar.gz" --directory="$2" . || status=$?
  [ "$status" -le 1 ] || exit "$status"
}
[ -z "$recordings" ] || archive recordings "$recordings"
[ -z "$records" ] || archive call-records "$records"

# A backup under its final name is complete.
(cd "$partial" && sha256sum -- * >SHA256SUMS)
mv "$partial" "$target"
echo "$target"
