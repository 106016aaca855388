/** What the manifests promise to continuous queries: ways for their rows, and time to leave. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fleetLimits } from "../../src/kinds/stream/fleet/core/query-view.ts";
import {
  at,
  listAt,
  type Node,
  nodeAt,
  readManifests,
  selects,
  textAt,
  type Workload,
  workloadsOf,
} from "./manifests.ts";

const manifests = readManifests();
const workloads = workloadsOf(manifests);
const policies = manifests.filter(({ kind }) => kind === "NetworkPolicy");

function workload(container: string): Workload {
  const found = workloads.find(({ containers }) => containers[0]?.name === container);
  return found ?? assert.fail(`a workload ${container}`);
}

const worker = workload("worker");
const coordinator = workload("coordinator");

interface Way {
  readonly from: Workload;
  readonly to: Workload;
  /** A container's port, or one that it chooses when it starts. */
  readonly port: string | number;
}

/** Whether the policies let a connection through, at both of its ends. */
function isOpen({ from, to, port }: Way): boolean {
  const leaves = allows("egress", from, to, port);
  const enters = allows("ingress", to, from, port, from);
  return leaves && enters;
}

/** `own` is the pod that the policies are about. Without a policy of this direction all is open. */
function allows(
  direction: "ingress" | "egress",
  own: Workload,
  other: Workload,
  port: string | number,
  sender = own,
): boolean {
  const about = policies.filter(
    ({ body }) =>
      selects(nodeAt(body, "spec", "podSelector"), own.labels) &&
      ((at(body, "spec", "policyTypes") ?? []) as readonly string[]).includes(
        direction === "ingress" ? "Ingress" : "Egress",
      ),
  );
  const peers = direction === "ingress" ? "from" : "to";
  const receiver = sender === own ? other : own;
  return (
    about.length === 0 ||
    about.some(({ body }) =>
      listAt(body, "spec", direction).some(
        (rule) => reaches(rule, peers, other) && takes(rule, receiver, port),
      ),
    )
  );
}

function reaches(rule: Node, peers: "from" | "to", other: Workload): boolean {
  return listAt(rule, peers).some(
    (peer) =>
      peer.namespaceSelector === undefined &&
      peer.podSelector !== undefined &&
      selects(nodeAt(peer, "podSelector"), other.labels),
  );
}

function takes(rule: Node, { containers }: Workload, port: string | number): boolean {
  if (rule.ports === undefined) return true;
  const number = containers
    .flatMap((container) => listAt(container, "ports"))
    .find(({ name }) => name === port)?.containerPort;
  return listAt(rule, "ports").some((each) => each.port === port || each.port === number);
}

test("fragments reach each other, coordinators the rows of previews, and fragments the coordinator's streams", () => {
  assert.ok(isOpen({ from: worker, to: worker, port: "artifacts" }));
  assert.ok(isOpen({ from: coordinator, to: worker, port: "artifacts" }));
  assert.ok(isOpen({ from: coordinator, to: worker, port: "grpc" }));
  assert.ok(isOpen({ from: worker, to: coordinator, port: 40_000 }));
  assert.ok(!isOpen({ from: worker, to: worker, port: "grpc" }));
  assert.ok(!isOpen({ from: worker, to: workload("query-api"), port: 40_000 }));
});

test("a worker that is asked to end has the time in which its queries leave it, and is alone with that", () => {
  const [container] = worker.containers;
  const args = (container?.args ?? []) as readonly string[];
  const drainSeconds = Number(
    args.flatMap((arg) => /^--drain-timeout=(\d+)$/.exec(arg)?.[1] ?? [])[0],
  );
  assert.ok(drainSeconds * 1_000 > fleetLimits.softStopMs + 10_000, `${drainSeconds} s`);
  assert.ok(Number(worker.pod.terminationGracePeriodSeconds) > drainSeconds);
  const spec = nodeAt(worker.manifest.body, "spec");
  assert.equal(textAt(spec, "updateStrategy", "type"), "RollingUpdate");
  assert.equal(at(spec, "updateStrategy", "rollingUpdate", "maxUnavailable") ?? 1, 1);
  assert.ok(Number(spec.minReadySeconds) >= 5);
});

test("a worker is ready when a coordinator knows it, and File sees a directory that there is", () => {
  const [container] = worker.containers;
  assert.equal(textAt(container, "readinessProbe", "httpGet", "path"), "/readyz");
  const args = (container?.args ?? []) as readonly string[];
  const [directory = ""] = args.flatMap((arg) => /^--stream-dir=(.+)$/.exec(arg)?.[1] ?? []);
  const mounts = listAt(container, "volumeMounts").filter(({ readOnly }) => readOnly !== true);
  assert.ok(mounts.some(({ mountPath }) => directory.startsWith(`${String(mountPath)}/`)));
});
