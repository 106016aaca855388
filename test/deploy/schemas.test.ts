/**
 * Every manifest against the published schemas. No cluster is asked: what admission would say
 * besides is not known.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { APIResourceList } from "@kubernetes-models/apimachinery/apis/meta/v1/APIResourceList";
import { Status } from "@kubernetes-models/apimachinery/apis/meta/v1/Status";
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2";
import {
  renderExternalMetric,
  renderExternalMetricsDiscovery,
  renderUnknownMetric,
} from "../../src/kinds/refresh/http/external-metrics.ts";
import { type Node, nodeAt, readDocuments, readManifests, yamlFiles } from "./manifests.ts";
import { checkPublished, checkWith } from "./published-schemas.ts";

for (const { file, kind, name, body } of readManifests()) {
  test(`${file}: ${kind} ${name} fits its published schema, and has no unknown field`, () => {
    assert.deepEqual(checkPublished(body), []);
  });
}

test("every file says the same in YAML 1.1, which kubectl reads, and in 1.2", () => {
  for (const file of yamlFiles()) {
    assert.deepEqual(readDocuments(file, "1.1"), readDocuments(file, "1.2"), file);
  }
});

const planted: readonly { name: string; break(body: Node): void; finds: RegExp }[] = [
  {
    name: "a misspelt field deep inside",
    break: (body) => assignAt(body, ["spec", "template", "spec", "containers", 0], "readinesProbe"),
    finds: /^\/spec\/template\/spec\/containers\/0\/readinesProbe: there is no such field$/,
  },
  {
    name: "a misspelt field at the top",
    break: (body) => assignAt(body, [], "specs"),
    finds: /^\/specs: there is no such field$/,
  },
  {
    name: "a text where a number belongs",
    break: (body) => assignAt(body, ["spec"], "replicas", "two"),
    finds: /replicas/,
  },
  {
    name: "a quantity that is none",
    break: (body) => {
      const path = ["spec", "template", "spec", "containers", 0, "resources", "requests"];
      assignAt(body, path, "memory", "much");
    },
    finds: /memory/,
  },
];
for (const { name, break: breakIt, finds } of planted) {
  test(`the check finds ${name}`, () => {
    const whole = readManifests().find(({ kind }) => kind === "Deployment")?.body;
    const body = structuredClone(whole) as Node;
    breakIt(body);
    const found = checkPublished(body);
    assert.equal(found.length, 1);
    assert.match(found[0] ?? "", finds);
  });
}

test("[AP29, AP30] the external metrics' discovery, errors and quantities fit the published schemas", () => {
  const checks: readonly (readonly [{ prototype: { validate(): void } }, unknown])[] = [
    [APIResourceList, renderExternalMetricsDiscovery()],
    [Status, renderUnknownMetric("nothing")],
  ];
  for (const [model, body] of checks) {
    const found = checkWith((shown) => model.prototype.validate.call(shown), body);
    assert.deepEqual(found, []);
  }
  // npm has no schema of an ExternalMetricValue; its quantity is the one of every other API.
  for (const pending of [0, 7, 0.25, 123_456_789]) {
    const load = {
      pendingRefreshCount: pending,
      pendingPartCount: 0,
      blockedCounts: {},
      refreshBacklogSeconds: 0,
      refreshDurationP95Seconds: undefined,
    };
    const list = renderExternalMetric("pending_refresh_count", load, 0);
    const scaler = readManifests().find(({ kind }) => kind === HorizontalPodAutoscaler.kind);
    const body = structuredClone(scaler?.body) as Node;
    const target = nodeAt(body, "spec", "metrics", 0, "external", "target");
    Object.assign(target, { averageValue: list?.items[0]?.value });
    assert.deepEqual(checkPublished(body), []);
  }
});

function assignAt(
  body: Node,
  path: readonly (string | number)[],
  key: string,
  value: unknown = {},
) {
  Object.assign(nodeAt(body, ...path), { [key]: value });
}
