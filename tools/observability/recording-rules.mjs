/** Recording rules: ratios that alerts and dashboards share. Joins that fail for a fault of the client do not count. */
export const RECORDING_RULES = [
  {
    record: 'session_service:join_failures:ratio_rate5m',
    expr: `sum by (cluster) (rate(session_service_join_failures_total{reason=~"NO_CAPACITY|UNAVAILABLE|TIMEOUT|INTERNAL"}[5m]))
/ (sum by (cluster) (rate(session_service_join_failures_total{reason=~"NO_CAPACITY|UNAVAILABLE|TIMEOUT|INTERNAL"}[5m]))
  + sum by (cluster) (rate(session_service_join_step_seconds_count{step="total"}[5m])))`,
  },
  {
    record: 'session_service:join_seconds:p95_5m',
    expr: `histogram_quantile(0.95, sum by (cluster, le) (rate(session_service_join_step_seconds_bucket{step="total"}[5m])))`,
  },
  {
    record: 'session_service:lossy_receivers:ratio_rate5m',
    expr: `1 - sum by (cluster, instance) (rate(session_service_media_loss_ratio_bucket{direction="out",le="0.05"}[5m]))
  / sum by (cluster, instance) (rate(session_service_media_loss_ratio_count{direction="out"}[5m]))`,
  },
  {
    record: 'session_service:frozen_video:ratio_rate5m',
    expr: `sum by (cluster) (rate(session_service_client_frozen_seconds_total[5m]))
  / sum by (cluster) (rate(session_service_client_video_seconds_total[5m]))`,
  },
  {
    record: 'session_service:http_server_errors:ratio_rate5m',
    expr: `(sum by (cluster) (rate(session_service_http_request_seconds_count{status="5xx"}[5m]))
  or 0 * sum by (cluster) (rate(session_service_http_request_seconds_count[5m])))
/ sum by (cluster) (rate(session_service_http_request_seconds_count[5m]))`,
  },
]
