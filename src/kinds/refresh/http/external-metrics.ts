/**
 * How much refreshing there is to do, in the words of two autoscalers: the External Metrics API of Kubernetes
 * (`external.metrics.k8s.io/v1beta1`, which a HorizontalPodAutoscaler asks) and a flat JSON body (KEDA's `metrics-api`
 * trigger). Bodies only: routes, and who may ask, are elsewhere.
 *
 *   EM1  One value for each metric, without labels: the numbers are the cluster's, whichever process is asked.
 *   EM2  What waits is never rounded to nothing: a value above zero is a quantity above zero.
 *   EM3  A metric that has no value yet is an empty list, never a made-up zero.
 */
import { assert } from "../../../ground/kernel/errors.ts";

export interface RefreshLoad {
  /** Refreshes that are claimed or can be, and parts that wait. */
  readonly pendingRefreshCount: number;
  /** Parts of refreshes that are not done. */
  readonly pendingPartCount: number;
  /** Refreshes that no worker could begin now, by what they wait for. */
  readonly blockedCounts: Readonly<Record<string, number>>;
  /** The age of the oldest of them; 0 where there is none. */
  readonly refreshBacklogSeconds: number;
  /** `undefined`: nothing has been refreshed lately. */
  readonly refreshDurationP95Seconds: number | undefined;
}

export type ExternalMetricName = keyof RefreshLoadBody;

export interface ExternalMetricValue {
  readonly metricName: string;
  readonly metricLabels: Readonly<Record<string, string>>;
  /** RFC 3339, whole seconds, as Kubernetes writes its times. */
  readonly timestamp: string;
  /** A quantity, as `7` or `1500m`. */
  readonly value: string;
}

export interface ExternalMetricValueList {
  readonly kind: "ExternalMetricValueList";
  readonly apiVersion: typeof externalMetricsVersion;
  readonly metadata: Readonly<Record<string, never>>;
  readonly items: readonly ExternalMetricValue[];
}

/** What the API server asks at `/apis/external.metrics.k8s.io/v1beta1` to see whether this is one. */
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

/** Kubernetes's form of an error. */
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

/** For KEDA: `valueLocation` names a field. */
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

/** `undefined`: there is no metric of that name; answer `renderUnknownMetric`. */
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
    items: value === null ? [] : [{ ...item, value: showQuantity(value) }], // EM3
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

/** A quantity holds 63 bits; beyond what a double counts in thousandths, whole units are exact enough. */
const milliMax = Number.MAX_SAFE_INTEGER;

/** Whole numbers as they are, others in thousandths, which is what Kubernetes computes with. */
function showQuantity(value: number): string {
  assert(Number.isFinite(value) && value >= 0, "a count or a duration is a number from 0 up");
  if (Number.isSafeInteger(value)) return String(value);
  const milli = Math.max(1, Math.round(value * 1000)); // EM2
  if (milli > milliMax) return String(Math.min(milliMax, Math.round(value)));
  return milli % 1000 === 0 ? String(milli / 1000) : `${milli}m`;
}
