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

(cd "$source" && sha256sum --check --quiet SHA256SUMS)

tables=$(psql --no-psqlrc --dbname="$DATABASE_URL" --tuples-only --no-align \
  --command="SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
if [ "$tables" != 0 ]; then
  echo "the database is not empty ($tables tables): restore into an empty one" >&2
  exit 1
fi
for folder in "$recordings" "$records"; do
  if [ -n "$folder" ] && [ -d "$folder" ] && [ -n "$(ls -A "$folder")" ]; then
    echo "$folder is not empty: restore into an empty folder" >&2
    exit 1
  fi
done

# Files first: a master that starts too early finds no database.
extract() {
  mkdir -p "$2"
  tar --extract --gzip --file="$source/$1.tar.gz" --directory="$2"
}
[ -z "$recordings" ] || extract recordings "$recordings"
[ -z "$records" ] || extract call-records "$records"
pg_restore --dbname="$DATABASE_URL" --single-transaction --exit-on-error --no-owner --no-privileges "$source/database.dump"

# Clients and media nodes may know ids from after the backup: the next ones must not be among them.
psql --no-psqlrc --quiet --dbname="$DATABASE_URL" --output=/dev/null --command="
  SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, coalesce(last_value, 0) + 1000000)
  FROM pg_sequences
  WHERE sequencename IN ('recent_signal_id_seq', 'recent_event_position_seq', 'recording_part_part_seq')"
