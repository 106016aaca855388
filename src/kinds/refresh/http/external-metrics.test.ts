import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { AssertionError } from "../../../ground/kernel/errors.ts";
import {
  externalMetricNames,
  type RefreshLoad,
  renderExternalMetric,
  renderExternalMetricsDiscovery,
  renderRefreshLoad,
  renderUnknownMetric,
} from "./external-metrics.ts";

const load: RefreshLoad = {
  pendingRefreshCount: 7,
  pendingPartCount: 4,
  blockedCounts: {},
  refreshBacklogSeconds: 1.5,
  refreshDurationP95Seconds: undefined,
};
const wallMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

// The shape and the names of the fields: k8s.io/metrics/pkg/apis/external_metrics/v1beta1/types.go.
test("[AP30] a metric is an ExternalMetricValueList with one value, without labels, at the given time", () => {
  assert.deepEqual(renderExternalMetric("pending_refresh_count", load, wallMs), {
    kind: "ExternalMetricValueList",
    apiVersion: "external.metrics.k8s.io/v1beta1",
    metadata: {},
    items: [
      {
        metricName: "pending_refresh_count",
        metricLabels: {},
        timestamp: "2026-01-02T03:04:05Z",
        value: "7",
      },
    ],
  });
});

test("[AP30] a metric without a value is an empty list, and one that does not exist a Status of 404", () => {
  assert.deepEqual(renderExternalMetric("refresh_duration_p95", load, wallMs)?.items, []);
  for (const name of ["pending_refreshes", "toString", ""]) {
    assert.equal(renderExternalMetric(name, load, wallMs), undefined);
  }
  const status = renderUnknownMetric("pending_refreshes");
  assert.equal(status.code, 404);
  assert.equal(status.reason, "NotFound");
  assert.match(status.message, /"pending_refreshes".*pending_refresh_count/);
});

test("[AP30] discovery names every metric", () => {
  const { groupVersion, resources } = renderExternalMetricsDiscovery();
  assert.equal(groupVersion, "external.metrics.k8s.io/v1beta1");
  assert.deepEqual(
    resources.map(({ name }) => name),
    externalMetricNames,
  );
});

const quantities = [
  { value: 0, want: "0" },
  { value: 20, want: "20" },
  { value: 1.5, want: "1500m" },
  { value: 1.1, want: "1100m" },
  { value: 0.0001, want: "1m" },
  { value: 1.9999, want: "2" },
  { value: 2 ** 53 - 1, want: "9007199254740991" },
  { value: 1e300, want: "9007199254740991" },
];
for (const { value, want } of quantities) {
  test(`[AP31] ${value} is the quantity ${want}`, () => {
    assert.equal(quantityOf(value), want);
  });
}

test("[AP31] a quantity is what Kubernetes reads, within half a thousandth, and zero for zero alone", () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), (value) => {
      const text = quantityOf(value);
      assert.match(text, /^\d+m?$/);
      const read = text.endsWith("m") ? Number(text.slice(0, -1)) / 1000 : Number(text);
      assert.ok(value < 0.001 ? read <= 0.001 : Math.abs(read - value) <= 0.000_51);
      assert.equal(read === 0, value === 0);
    }),
  );
});

test("[AP31] what is no count is our bug", () => {
  for (const value of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => quantityOf(value), AssertionError);
  }
});

test("[AP32] KEDA's body has one number for each metric, null where there is none", () => {
  assert.deepEqual(renderRefreshLoad(load), {
    pending_refresh_count: 7,
    pending_refresh_parts: 4,
    refresh_backlog_seconds: 1.5,
    refresh_duration_p95: null,
  });
  assert.deepEqual(Object.keys(renderRefreshLoad(load)), externalMetricNames);
});

function quantityOf(refreshBacklogSeconds: number): string {
  const list = renderExternalMetric(
    "refresh_backlog_seconds",
    { ...load, refreshBacklogSeconds },
    wallMs,
  );
  const value = list?.items[0]?.value;
  assert.ok(value !== undefined);
  return value;
}
