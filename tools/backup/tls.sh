# Sourced by backup.sh and restore.sh: gives libpq the TLS settings of masters.
case $DATABASE_URL in
# libpq checks no certificate with `require`.
*[?\&]sslmode=no-verify*) DATABASE_URL=$(printf %s "$DATABASE_URL" | sed 's/\([?&]sslmode=\)no-verify/\1require/') ;;
*[?\&]sslrootcert=*) ;;
*[?\&]sslmode=verify-*)
  PGSSLROOTCERT=${PGSSLROOTCERT:-${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}}
  export PGSSLROOTCERT
  ;;
esac
