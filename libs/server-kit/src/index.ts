export * from './async/index.js'
export { type ClockSample, ReferenceClock, serviceClock } from './clock/reference-clock.js'
export { flush, isErrno, makeFolder, moveDurably } from './files.js'
export { isReadOnlyDatabase, translateDatabaseError, type ErrorTranslator } from './http/database-errors.js'
export { ERROR_TRANSLATOR, HttpErrorFilter, isCameraFailure } from './http/error-filter.js'
export { HTTP_STATUS, RETRY_AFTER_S } from './http/status.js'
export { StatusWhenMissing, type StatusBySubject } from './http/status-when-missing.js'
export { ipFamily, isIpNetwork, networkList } from './ip-networks.js'
export { createLogger, LOG_LEVELS, ServiceLogger, type LoggerOptions, type LogLevel } from './logging/logger.js'
export { redact, redactText } from './logging/redact.js'
export { CpuMeter, cpuTimes } from './machine/cpu-meter.js'
export { MachineMonitor, type MachineMonitorOptions } from './machine/machine-monitor.js'
export {
  metrics,
  registry,
  type CounterMetric,
  type GaugeMetric,
  type HistogramMetric,
  type Series,
} from './metrics.js'
export { OpsModule } from './ops/ops.module.js'
export { json, OpsService } from './ops/ops.service.js'
export { serveStartProbes, type StartProbes } from './ops/start-probes.js'
export type { OpsOptions } from './ops/options.js'
export { takeAllBut, takeProperties } from './own-environment.js'
export * from './processes/index.js'
export { serveLogLevel } from './ops/log-level.js'
export { startTracing, type TracingOptions } from './tracing/start-tracing.js'
export {
  type ActiveSpan,
  currentTraceId,
  currentTraceparent,
  describeSpan,
  failSpan,
  inChildSpan,
  inSpan,
  isTracing,
  type SpanOptions,
  startChildSpan,
  startSpan,
  withoutSpan,
  withSpan,
} from './tracing/trace.js'
export { formatTraceparent } from './tracing/traceparent.js'
export { EXIT_CONFIG, runApplication, type RunningApplication, type RunOptions } from './run-application.js'
export { dropPrivileges, listenOnPrivilegedPort, type RunAsOptions } from './run-as/index.js'
