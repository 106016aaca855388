/**
 * Renders the refresh load for two autoscalers: as the Kubernetes External Metrics API
 * (`external.metrics.k8s.io/v1beta1`, for a HorizontalPodAutoscaler) and as flat JSON (for KEDA's
 * `metrics-api` trigger). Routes and access checks are elsewhere. Rules: AP30 to AP32.
 */
import { assert } from "../../../ground/kernel/errors.ts";
import type { RefreshGauges } from "../refresh-metrics.ts";

export type RefreshLoad = Pick<
  RefreshGauges,
  | "pendingRefreshCount"
  | "pendingPartCount"
  | "blockedCounts"
  | "refreshBacklogSeconds"
  | "refreshDurationP95Seconds"
>;

export type ExternalMetricName = keyof RefreshLoadBody;

export interface ExternalMetricValue {
  readonly metricName: string;
  readonly metricLabels: Readonly<Record<string, string>>;
  /** RFC 3339 in whole seconds, as Kubernetes writes its times. */
  readonly timestamp: string;
  /** A Kubernetes quantity such as `7` or `1500m`. */
  readonly value: string;
}

export interface ExternalMetricValueList {
  readonly kind: "ExternalMetricValueList";
  readonly apiVersion: typeof externalMetricsVersion;
  readonly metadata: Readonly<Record<string, never>>;
  readonly items: readonly ExternalMetricValue[];
}

/** The discovery document that the API server reads at `/apis/external.metrics.k8s.io/v1beta1`. */
export interface ApiResourceList {
  readonly kind: "APIResourceList";
  readonly apiVersion: "v1";
  readonly groupVersion: typeof externalMetricsVersion;
  readonly resources: readonly {
    readonly name: string;
    readonly singularName: string;
    readonly namespaced: true;
    readonly kind: "ExternalMetricValueList";
    readonly verbs: readonly ["get"];
  }[];
}

/** An error in Kubernetes's format. */
export interface ApiStatus {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: Readonly<Record<string, never>>;
  readonly status: "Failure";
  readonly message: string;
  readonly reason: "NotFound";
  readonly details: {
    readonly group: string;
    readonly kind: "ExternalMetricValueList";
    readonly name: string;
  };
  readonly code: 404;
}

/** For KEDA, whose `valueLocation` names a field. */
export interface RefreshLoadBody {
  readonly pending_refresh_count: number;
  readonly pending_refresh_parts: number;
  readonly refresh_backlog_seconds: number;
  readonly refresh_duration_p95: number | null;
}

const externalMetricsGroup = "external.metrics.k8s.io";
export const externalMetricsVersion = `${externalMetricsGroup}/v1beta1` as const;
export const externalMetricNames: readonly ExternalMetricName[] = [
  "pending_refresh_count",
  "pending_refresh_parts",
  "refresh_backlog_seconds",
  "refresh_duration_p95",
];

/** Undefined for an unknown name. The caller then answers `renderUnknownMetric`. */
export function renderExternalMetric(
  name: string,
  load: RefreshLoad,
  wallMs: number,
): ExternalMetricValueList | undefined {
  const known = externalMetricNames.find((each) => each === name);
  if (known === undefined) return undefined;
  const value = renderRefreshLoad(load)[known];
  const timestamp = new Date(wallMs).toISOString().replace(/\.\d{3}Z$/, "Z");
  const item = { metricName: known, metricLabels: {}, timestamp };
  return {
    kind: "ExternalMetricValueList",
    apiVersion: externalMetricsVersion,
    metadata: {},
    items: value === null ? [] : [{ ...item, value: showQuantity(value) }],
  };
}

export function renderExternalMetricsDiscovery(): ApiResourceList {
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: externalMetricsVersion,
    resources: externalMetricNames.map((name) => ({
      name,
      singularName: "",
      namespaced: true,
      kind: "ExternalMetricValueList",
      verbs: ["get"],
    })),
  };
}

/** The body of a 404. */
export function renderUnknownMetric(name: string): ApiStatus {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `there is no metric ${JSON.stringify(name)}; there are ${externalMetricNames.join(", ")}`,
    reason: "NotFound",
    details: { group: externalMetricsGroup, kind: "ExternalMetricValueList", name },
    code: 404,
  };
}

export function renderRefreshLoad(load: RefreshLoad): RefreshLoadBody {
  return {
    pending_refresh_count: load.pendingRefreshCount,
    pending_refresh_parts: load.pendingPartCount,
    refresh_backlog_seconds: load.refreshBacklogSeconds,
    refresh_duration_p95: load.refreshDurationP95Seconds ?? null,
  };
}

/** A quantity has 63 bits. Above this value thousandths are not exact, so whole units are used. */
const milliMax = Number.MAX_SAFE_INTEGER;

/** Whole numbers as they are, others in thousandths, the unit in which Kubernetes computes. */
function showQuantity(value: number): string {
  assert(Number.isFinite(value) && value >= 0, "a count or a duration is a number from 0 up");
  if (Number.isSafeInteger(value)) return String(value);
  const milli = Math.max(1, Math.round(value * 1000)); // AP31: never rounded down to 0.
  if (milli > milliMax) return String(Math.min(milliMax, Math.round(value)));
  return milli % 1000 === 0 ? String(milli / 1000) : `${milli}m`;
}
