#!/bin/sh
# Writes deploy/.env for deploy/compose.yaml, with new secrets and readable by its owner alone:
#   sh deploy/compose/new-env.sh <address of this machine for browsers> [domain with TLS]
# An existing file stays as it is.
set -eu
address=${1:?usage: new-env.sh <address of this machine for browsers> [domain with TLS]}
domain=${2:-}
file=${ENV_FILE:-$(dirname "$0")/../.env}
if [ -e "$file" ]; then
  echo "$file exists already" >&2
  exit 1
fi
# A letter first: nats-server would read other values as numbers.
secret() { printf 's%s' "$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')"; }
draft=$(mktemp "$file.XXXXXX")
trap 'rm -f "$draft"' EXIT
cat > "$draft" <<EOF
SERVICE_SECRET=$(secret)
POSTGRES_PASSWORD=$(secret)
NATS_MASTER_PASSWORD=$(secret)
NATS_NODE_PASSWORD=$(secret)
TURN_SECRET=$(secret)
PUBLIC_ADDRESS=$address
EOF
if [ -n "$domain" ]; then
  cat >> "$draft" <<EOF
DOMAIN=$domain
SERVICE_PUBLICURL=https://$domain
PLAYGROUND_HOSTNAMES=$domain
EOF
fi
mv "$draft" "$file"
trap - EXIT
echo "$file written"
