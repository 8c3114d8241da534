#!/bin/sh
# Restores a backup into an empty database and empty folders.
#   DATABASE_URL=postgres://… tools/backup/restore.sh <folder of the backup> [<recordings folder> [<call records folder>]]
# Needs pg_restore and psql, at least of the major version of the pg_dump that made the backup, and tar.
# No master may run meanwhile.
set -eu

usage() {
  echo "usage: DATABASE_URL=postgres://… $0 <folder of the backup> [<recordings folder> [<call records folder>]]" >&2
  exit 64
}
[ $# -ge 1 ] && [ $# -le 3 ] && [ -n "${DATABASE_URL:-}" ] || usage
source=$1
recordings=${2:-}
records=${3:-}

. "$(dirname "$0")/tls.sh"
(cd "$source" && sha256sum --check --quiet SHA256SUMS)

tables=$(psql --no-psqlrc --dbname="$DATABASE_URL" --tuples-only --no-align \
  --command="SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
if [ "$tables" != 0 ]; then
  echo "the database is not empty ($tables tables): restore into an empty one" >&2
  exit 1
fi
# .jobs holds recordings in progress of media nodes that stay; each new file system has lost+found.
for folder in "$recordings" "$records"; do
  if [ -n "$folder" ] && [ -d "$folder" ] && ls -A "$folder" | grep -qvxE '\.jobs|lost\+found'; then
    echo "$folder is not empty: restore into an empty folder" >&2
    exit 1
  fi
done

check() {
  if ! tar --list --gzip --file="$source/$1.tar.gz" >/dev/null; then
    echo "the backup has no complete $1: leave the folder out to restore without" >&2
    exit 1
  fi
}
[ -z "$recordings" ] || check recordings
[ -z "$records" ] || check call-records

# Files first: a master that starts too early finds no database.
extract() {
  mkdir -p "$2"
  tar --extract --gzip --file="$source/$1.tar.gz" --directory="$2"
}
[ -z "$recordings" ] || extract recordings "$recordings"
[ -z "$records" ] || extract call-records "$records"
pg_restore --dbname="$DATABASE_URL" --single-transaction --exit-on-error --no-owner --no-privileges "$source/database.dump"
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --dbname="$DATABASE_URL" --file="$(dirname "$0")/continue-ids.sql"
