/** What one manifest says of another: keys, labels, ports, volumes, files. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";
import { decideSplit, splitLimitsDefault } from "../../src/kinds/refresh/refresh/decide-split.ts";
import {
  at,
  kubernetesDir,
  listAt,
  type Manifest,
  type Node,
  nodeAt,
  nodesWithin,
  readDocuments,
  readManifests,
  selects,
  textAt,
  type Workload,
  workloadsOf,
  yamlFiles,
} from "./manifests.ts";

const manifests = readManifests();
const workloads = workloadsOf(manifests);
const ofKind = (kind: string): readonly Manifest[] =>
  manifests.filter((manifest) => manifest.kind === kind);
const named = (kind: string, name: string): Manifest | undefined =>
  ofKind(kind).find((manifest) => manifest.name === name);

test("every key of a Secret or a ConfigMap that is asked for is in it, and every key is asked for", () => {
  const keys = (kind: string, field: string): readonly string[] =>
    ofKind(kind).flatMap(({ name, body }) =>
      Object.keys(nodeAt(body, field)).map((key) => `${kind} ${name} ${key}`),
    );
  const there = [...keys("Secret", "stringData"), ...keys("ConfigMap", "data")];
  const asked = manifests.flatMap(({ body }) => [...nodesWithin(body)].flatMap(keysAskedBy));
  assert.ok(asked.length > 10);
  assert.deepEqual([...new Set(asked)].sort(compare), there.toSorted(compare));
});

function keysAskedBy(node: Node): readonly string[] {
  const secrets = ["secretKeyRef", "credentials"].map((field) => nodeAt(node, field));
  const found = [...secrets, ...listAt(node, "secretTargetRef")].map(
    (each) => `Secret ${textAt(each, "name")} ${textAt(each, "key")}`,
  );
  const config = nodeAt(node, "configMapKeyRef");
  const volume = nodeAt(node, "configMap");
  return [
    ...found,
    `ConfigMap ${textAt(config, "name")} ${textAt(config, "key")}`,
    ...listAt(volume, "items").map(
      (item) => `ConfigMap ${textAt(volume, "name")} ${textAt(item, "key")}`,
    ),
  ].filter((text) => !/ {2}/.test(text));
}

test("a workload selects its own pods and no other's", () => {
  for (const { manifest } of workloads) {
    const selector = nodeAt(manifest.body, "spec", "selector");
    assert.deepEqual(selectedBy(selector), [manifest.name]);
  }
});

test("Services and budgets select the pods of one workload each, network policies and monitors of some", () => {
  for (const { name, body } of ofKind("Service")) {
    const selector = { matchLabels: nodeAt(body, "spec", "selector") };
    assert.deepEqual(selectedBy(selector), [name]);
  }
  for (const { name, body } of ofKind("PodDisruptionBudget")) {
    assert.deepEqual(selectedBy(nodeAt(body, "spec", "selector")), [name]);
  }
  assert.equal(ofKind("PodDisruptionBudget").length, workloads.length);
  const monitored = ofKind("PodMonitor").flatMap(({ body }) =>
    selectedBy(nodeAt(body, "spec", "selector")),
  );
  assert.deepEqual(monitored.sort(compare), workloadNames());
  for (const { name, body } of [...ofKind("NetworkPolicy"), ...workloads.map((w) => w.manifest)]) {
    for (const node of nodesWithin(body)) {
      for (const field of ["podSelector", "labelSelector"]) {
        if (node[field] === undefined || node.namespaceSelector !== undefined) continue;
        assert.ok(selectedBy(nodeAt(node, field)).length > 0, `${name} ${field}`);
      }
    }
  }
});

test("every workload is closed by a network policy", () => {
  const closed = ofKind("NetworkPolicy").flatMap(({ body }) =>
    selectedBy(nodeAt(body, "spec", "podSelector")),
  );
  assert.deepEqual([...new Set(closed)].sort(compare), workloadNames());
});

test("a named port of a Service, probe, policy or monitor is one of the containers'", () => {
  for (const { name, body } of ofKind("Service")) {
    for (const port of listAt(body, "spec", "ports")) {
      assert.equal(portsOf(workload(name)).get(textAt(port, "targetPort")), port.port);
    }
  }
  for (const each of workloads) {
    for (const container of each.containers) {
      for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
        const port = textAt(container, probe, "httpGet", "port");
        assert.ok(portsOf(each).has(port), `${each.manifest.name} ${probe} ${port}`);
      }
    }
  }
  for (const { name, body } of ofKind("NetworkPolicy")) {
    const pods = selectedBy(nodeAt(body, "spec", "podSelector")).map(workload);
    for (const rule of listAt(body, "spec", "ingress")) {
      for (const port of listAt(rule, "ports")) {
        for (const each of pods) assert.ok(portsOf(each).has(textAt(port, "port")), name);
      }
    }
  }
  for (const { name, body } of ofKind("PodMonitor")) {
    for (const each of selectedBy(nodeAt(body, "spec", "selector")).map(workload)) {
      for (const endpoint of listAt(body, "spec", "podMetricsEndpoints")) {
        assert.ok(portsOf(each).has(textAt(endpoint, "port")), name);
      }
    }
  }
});

test("every mount has a volume, every volume a mount, and every claim exists", () => {
  for (const { manifest, pod, containers, initContainers } of workloads) {
    const mounted = [...containers, ...initContainers].flatMap((container) =>
      listAt(container, "volumeMounts").map((mount) => textAt(mount, "name")),
    );
    const volumes = listAt(pod, "volumes");
    const names = volumes.map((volume) => textAt(volume, "name"));
    assert.deepEqual([...new Set(mounted)].sort(compare), names.sort(compare), manifest.name);
    for (const volume of volumes) {
      const claim = at(volume, "persistentVolumeClaim", "claimName");
      if (claim !== undefined) assert.ok(named("PersistentVolumeClaim", String(claim)));
    }
  }
});

test("the autoscalers scale the workers, which no manifest gives a number of", () => {
  const scalers = [...ofKind("HorizontalPodAutoscaler"), ...ofKind("ScaledObject")];
  assert.equal(scalers.length, 2);
  for (const { body } of scalers) {
    const { kind, name } = nodeAt(body, "spec", "scaleTargetRef");
    const target = named(String(kind), String(name));
    assert.ok(target !== undefined);
    assert.equal(at(target.body, "spec", "replicas"), undefined);
    assert.equal(at(target.body, "spec", "serviceName"), named("Service", target.name)?.name);
  }
  for (const trigger of listAt(ofKind("ScaledObject")[0]?.body, "spec", "triggers")) {
    assert.ok(named("TriggerAuthentication", textAt(trigger, "authenticationRef", "name")));
  }
});

test("the HorizontalPodAutoscaler has the numbers of the spec, KEDA's scales to zero", () => {
  const { scaleTargetRef, ...spec } = nodeAt(ofKind("HorizontalPodAutoscaler")[0]?.body, "spec");
  assert.equal(textAt(scaleTargetRef, "name"), "dynamic-table-workers");
  assert.deepEqual(spec, {
    minReplicas: 2,
    maxReplicas: 20,
    metrics: [
      {
        type: "External",
        external: {
          metric: { name: "pending_refresh_count" },
          target: { type: "AverageValue", averageValue: "5" },
        },
      },
      {
        type: "External",
        external: {
          metric: { name: "pending_refresh_parts" },
          target: { type: "AverageValue", averageValue: "1" },
        },
      },
    ],
  });
  const scaled = nodeAt(ofKind("ScaledObject")[0]?.body, "spec");
  assert.deepEqual([scaled.minReplicaCount, scaled.maxReplicaCount], [0, 20]);
});

test("[TP10] a split refresh asks for more workers than are there, up to one for each part", () => {
  const buckets = { kind: "buckets", columns: ["k"] } as const;
  const large = decideSplit(buckets, 1e9, splitLimitsDefault);
  assert.ok(large.kind === "split");
  // Both autoscalers divide a number of the whole cluster by its target, and take the largest.
  const targets = new Map([
    ...listAt(ofKind("HorizontalPodAutoscaler")[0]?.body, "spec", "metrics").map(
      (metric): [string, number] => [
        `hpa ${textAt(metric, "external", "metric", "name")}`,
        Number(textAt(metric, "external", "target", "averageValue")),
      ],
    ),
    ...listAt(ofKind("ScaledObject")[0]?.body, "spec", "triggers").map(
      (trigger): [string, number] => [
        `keda ${textAt(trigger, "metadata", "valueLocation")}`,
        Number(textAt(trigger, "metadata", "targetValue")),
      ],
    ),
  ]);
  for (const scaler of ["hpa", "keda"]) {
    for (let workers = 1; workers <= 20; workers += 1) {
      const taken = Math.min(workers, large.parts);
      const load = {
        pending_refresh_count: 1 + large.parts - taken,
        pending_refresh_parts: large.parts,
      };
      const asked = Object.entries(load).map(([name, value]) =>
        Math.ceil(value / (targets.get(`${scaler} ${name}`) ?? Number.NaN)),
      );
      const wanted = Math.max(...asked);
      assert.ok(wanted > workers || wanted === large.parts, `${scaler} at ${workers} workers`);
    }
  }
});

/** npm has no schema of a kustomization: these are the fields that are used here. */
const kustomizationFields = [
  "apiVersion",
  "kind",
  "namespace",
  "resources",
  "components",
  "images",
  "replicas",
];
/** In no kustomization, on purpose: a template, and what waits for its routes. */
const unlisted = ["secret.example.yaml"];

test("every kustomization names files that exist, and every manifest is named once", () => {
  const listed: string[] = [];
  for (const file of yamlFiles().filter((each) => each.endsWith("kustomization.yaml"))) {
    const [body] = readDocuments(file);
    assert.deepEqual(
      Object.keys(body ?? {}).filter((key) => !kustomizationFields.includes(key)),
      [],
    );
    for (const resource of listAt(body, "resources").map(String)) {
      const path = normalize(join(dirname(file), resource));
      const isFolder = existsSync(join(kubernetesDir, path, "kustomization.yaml"));
      assert.ok(isFolder || existsSync(join(kubernetesDir, path)), `${file}: ${resource}`);
      if (!isFolder) listed.push(path);
    }
    for (const { name } of listAt(body, "replicas")) {
      assert.ok(workloadNames().includes(String(name)));
    }
    for (const { name } of listAt(body, "images")) {
      const images = workloads.flatMap(({ containers }) => containers.map(({ image }) => image));
      assert.ok(images.includes(name));
    }
  }
  const files = [...new Set(manifests.map(({ file }) => file))];
  assert.deepEqual([...listed, ...unlisted].sort(compare), files.sort(compare));
});

test("what names its namespace names the one of the base, which is in the addresses too", () => {
  const namespace = textAt(readDocuments("base/kustomization.yaml")[0], "namespace");
  assert.equal(ofKind("Namespace")[0]?.name, namespace);
  for (const { file, name, body } of manifests) {
    const own = at(body, "metadata", "namespace");
    if (own !== undefined) assert.equal(own, namespace, name);
    // The base's are given theirs by kustomize, which knows nothing of what is outside.
    else assert.ok(file.startsWith("base/"), `${file} ${name}`);
    for (const node of nodesWithin(body)) {
      const host = /^http:\/\/[^.]+\.([^.]+)\.svc\./.exec(textAt(node, "url"))?.[1];
      if (host !== undefined) assert.equal(host, namespace);
    }
  }
  assert.deepEqual(ofKind("APIService"), [], "the API server's certificate is not checked");
});

function selectedBy(selector: Node): string[] {
  return workloads
    .filter(({ labels }) => selects(selector, labels))
    .map(({ manifest }) => manifest.name)
    .sort(compare);
}

function workload(name: string): Workload {
  const found = workloads.find(({ manifest }) => manifest.name === name);
  assert.ok(found !== undefined, `there is a workload ${name}`);
  return found;
}

function workloadNames(): string[] {
  return workloads.map(({ manifest }) => manifest.name).sort(compare);
}

function portsOf({ containers }: Workload): ReadonlyMap<string, unknown> {
  const ports = containers.flatMap((container) => listAt(container, "ports"));
  return new Map(ports.map((port) => [textAt(port, "name"), port.containerPort]));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
