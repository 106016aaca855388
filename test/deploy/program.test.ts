/**
 * What the manifests say of the program: flags, environment, paths, times. It is asked itself, not
 * its documentation.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { createProgram } from "../../src/cli/program.ts";
import { parseLakeUrl } from "../../src/data/lake/objects/lake-url.ts";
import { startApi } from "../../src/faces/api/index.ts";
import {
  apiConfig,
  bothTokens,
  FakeCluster,
  readToken,
} from "../../src/faces/api/testing/fake-ports.ts";
import { parseWorkerId } from "../../src/ground/kernel/ids.ts";
import { Metrics } from "../../src/ground/observe/index.ts";
import { RequestGuard } from "../../src/ground/process/index.ts";
import { parseBytes } from "../../src/ground/process/memory-share.ts";
import { parseTokens } from "../../src/ground/process/tokens.ts";
import { parseStoreUrl } from "../../src/ground/store/index.ts";
import { parseScrapeConfig } from "../../src/kinds/ask/metrics/core/ingest/scrape/parse-scrape-config.ts";
import { startMonitor } from "../../src/worker/monitor-server.ts";
import {
  at,
  expandArgs,
  kubernetesDir,
  listAt,
  type Node,
  nodeAt,
  readManifests,
  textAt,
  type Workload,
  workloadsOf,
} from "./manifests.ts";

const root = dirname(dirname(kubernetesDir));
const manifests = readManifests();
const workloads = workloadsOf(manifests);
const bodyOf = (kind: string): Node => nodeAt(manifests.find((each) => each.kind === kind)?.body);

/** What the cluster would put in place of `$(NAME)`. */
const inCluster: Readonly<Record<string, string>> = {
  POD_IP: "10.1.2.3",
  POD_NAME: "dynamic-table-workers-19",
  POD_NAMESPACE: textAt(bodyOf("Namespace"), "metadata", "name"),
  LOG_LEVEL: textAt(bodyOf("ConfigMap"), "data", "log-level"),
};

interface Parsed {
  readonly command: string;
  readonly options: Node;
}

/** Throws what the command line says to them. */
async function parseArgs(args: readonly string[]): Promise<Parsed> {
  const nothing = async (): Promise<void> => undefined;
  const run = { ask: nothing, serve: nothing, exitWith: () => undefined };
  const program = createProgram("0.0.0-test", run, true);
  await program.parseAsync([...args], { from: "user" });
  const command = program.commands.find((each) => each.name() === args[0]);
  assert.ok(command !== undefined);
  return { command: command.name(), options: command.opts() };
}

async function parseContainer(container: Node): Promise<Parsed> {
  return await parseArgs(expandArgs(container, (name) => inCluster[name] ?? assert.fail(name)));
}

const mainOf = ({ containers: [container] }: Workload): Node => container ?? assert.fail();

for (const { manifest, containers, initContainers } of workloads) {
  for (const container of [...initContainers, ...containers]) {
    test(`${manifest.name}: the command line takes the arguments of ${container.name}`, async () => {
      assert.equal(container.command, undefined); // The image's entry point is the program.
      await parseContainer(container);
    });
  }
}

test("an argument that does not exist, or has no such value, would be found", async () => {
  await assert.rejects(parseArgs(["worker", "--shop=x"]), /unknown option '--shop=x'/);
  await assert.rejects(parseArgs(["coordinator", "--drain-timeout=soon"]), /number of seconds/);
  await assert.rejects(parseArgs(["worker", "--log-level=loud"]), /Allowed choices/);
  assert.throws(() => expandArgs({ args: ["--name=$(NOBODY)"] }, () => ""), /NOBODY is not set/);
});

test("ports of the containers are the ones that the program is told", async () => {
  const flags: Readonly<Record<string, string>> = {
    http: "port",
    grpc: "grpcPort",
    artifacts: "dataPort",
    metrics: "metricsPort",
  };
  for (const workload of workloads) {
    const { options } = await parseContainer(mainOf(workload));
    for (const port of listAt(mainOf(workload), "ports")) {
      assert.equal(options[flags[textAt(port, "name")] ?? ""], port.containerPort);
    }
  }
});

test("every variable is read by the program, or stands in an argument or another variable", () => {
  const sources = globSync(["src/**/*.ts", "bin/*.js"], { cwd: root })
    .filter((file) => !file.endsWith(".test.ts"))
    .map((file) => readFileSync(join(root, file), "utf8"));
  for (const { containers, initContainers } of workloads) {
    for (const container of [...initContainers, ...containers]) {
      const texts = [...((container.args ?? []) as string[]), ...listAt(container, "env")];
      for (const name of listAt(container, "env").map((each) => textAt(each, "name"))) {
        const expanded = JSON.stringify(texts).includes(`$(${name})`);
        const read = new RegExp(`env\\.${name}\\b|env\\("${name}"\\)`);
        const isOfSdk = name === "AWS_ACCESS_KEY_ID"; // Read by the SDK, beside the secret key.
        assert.ok(expanded || isOfSdk || sources.some((text) => read.test(text)), name);
      }
    }
  }
});

test("a variable that another one names is set before it", () => {
  for (const workload of workloads) {
    const seen = new Set<string>();
    for (const variable of listAt(mainOf(workload), "env")) {
      for (const [, name] of textAt(variable, "value").matchAll(/\$\(([A-Z_]+)\)/g)) {
        assert.ok(seen.has(name ?? ""), name);
      }
      seen.add(textAt(variable, "name"));
    }
  }
});

test("the configuration and the names are ones that the program takes; the template's secrets are refused", () => {
  assert.deepEqual(
    parseScrapeConfig(textAt(bodyOf("ConfigMap"), "data", "scrape.yaml")).ignored,
    [],
  );
  assert.ok(parseWorkerId(inCluster.POD_NAME ?? "") !== undefined);
  const secret = nodeAt(bodyOf("Secret"), "stringData");
  assert.throws(() => parseStoreUrl(textAt(secret, "store-url")), { code: "bad_request" });
  const lakeUrl = textAt(bodyOf("ConfigMap"), "data", "lake-url");
  assert.throws(() => parseLakeUrl(lakeUrl), { code: "bad_request" });
  const filledIn = lakeUrl.replace("REPLACE-ME", "a-bucket").replace("REGION", "eu-central-1");
  assert.equal(parseLakeUrl(filledIn).kind, "s3");
  for (const workload of workloads) {
    const tokens = listAt(mainOf(workload), "env").find(({ name }) => name === "CAPSTAN_TOKENS");
    const filled = (read: string, operate: string): string =>
      textAt(tokens, "value").replace("$(READ_TOKEN)", read).replace("$(OPERATE_TOKEN)", operate);
    const template = filled(textAt(secret, "read-token"), textAt(secret, "operate-token"));
    assert.throws(() => parseTokens(template, "CAPSTAN_TOKENS"), { code: "bad_request" });
    const roles = parseTokens(filled("r".repeat(64), "o".repeat(64)), "").map(({ role }) => role);
    assert.ok(roles.includes("read"));
  }
});

const api = await startApi(apiConfig(bothTokens), new FakeCluster().ports());
const monitor = await startMonitor({
  host: "127.0.0.1",
  port: 0,
  hosts: [],
  metrics: new Metrics({ process: "worker", version: "0.0.0-test" }),
  ready: () => ({ ready: true, parts: [] }),
  mayRead: () => true,
});
after(async () => {
  await monitor.close();
  api.drain();
  await api.close();
  api.force();
});

test("probes and monitors ask for paths that are answered, without a token where they send none", async () => {
  for (const workload of workloads) {
    const isWorker = mainOf(workload).name === "worker";
    const base = isWorker ? `http://127.0.0.1:${monitor.port}` : api.url;
    for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
      const path = textAt(mainOf(workload), probe, "httpGet", "path");
      assert.equal((await fetch(`${base}${path}`)).status, 200, path);
    }
    const headers = { authorization: `Bearer ${readToken}` };
    assert.equal((await fetch(`${base}/metrics`, { headers })).status, 200);
  }
  for (const { body } of manifests.filter(({ kind }) => kind === "PodMonitor")) {
    assert.equal(at(body, "spec", "podMetricsEndpoints", 0, "path"), "/metrics");
  }
});

test("what KEDA asks is answered to the read token, with a number where it looks for one", async () => {
  const triggers = listAt(bodyOf("ScaledObject"), "spec", "triggers");
  const asked = new Set(
    triggers.map(({ metadata }) => {
      const { hostname } = new URL(textAt(metadata, "url"));
      return `${hostname.split(".")[0]} ${textAt(metadata, "valueLocation")}`;
    }),
  );
  for (const expected of [
    "capstan-coordinator queue_depth",
    "capstan-coordinator oldest_age_seconds",
    "capstan-query-api queue_depth",
    "capstan-query-api oldest_age_seconds",
    "capstan-coordinator pending_refresh_count",
    "capstan-coordinator fragments",
    "capstan-coordinator waiting_fragments",
  ]) {
    assert.ok(asked.has(expected), `no trigger asks ${expected}`);
  }
  for (const { metadata } of triggers) {
    const { pathname } = new URL(textAt(metadata, "url"));
    const headers = { authorization: `Bearer ${readToken}` };
    const answer = await fetch(`${api.url}${pathname}`, { headers });
    assert.equal(answer.status, 200, pathname);
    assert.equal(typeof at(await answer.json(), textAt(metadata, "valueLocation")), "number");
  }
  const reference = nodeAt(bodyOf("TriggerAuthentication"), "spec", "secretTargetRef", 0);
  assert.deepEqual([reference.parameter, reference.key], ["token", "read-token"]);
});

test("the API lets in whoever asks it by the Service's names or its address", async () => {
  const urls = [
    ...listAt(bodyOf("ScaledObject"), "spec", "triggers").map((each) =>
      textAt(each, "metadata", "url"),
    ),
    ...workloads.flatMap((each) => textsOf(mainOf(each).args, /^--join=(.+)$/)),
  ];
  const namespace = inCluster.POD_NAMESPACE;
  for (const workload of workloads.filter((each) => mainOf(each).name !== "worker")) {
    const { options } = await parseContainer(mainOf(workload));
    const { host, apiUrl, allowHost } = options as Record<string, string> & { allowHost: string[] };
    const hosts = [new URL(apiUrl ?? "").hostname, ...allowHost];
    const guard = new RequestGuard({ bindHost: host ?? "", hosts, origins: [] });
    const service = workload.manifest.name;
    const names = ["", `.${namespace}`, `.${namespace}.svc`, `.${namespace}.svc.cluster.local`];
    const asked = urls.map((url) => new URL(url).host).filter((name) => name.startsWith(service));
    for (const name of [
      ...names.map((end) => `${service}${end}:4600`),
      "10.9.9.9:4600",
      ...asked,
    ]) {
      const request = { host: name, origin: undefined, secFetchSite: undefined };
      assert.equal(guard.refuse(request), undefined, name);
    }
  }
  const services = manifests.filter(({ kind }) => kind === "Service").map(({ name }) => name);
  for (const url of urls) assert.ok(services.includes(new URL(url).hostname.split(".")[0] ?? ""));
});

/**
 * What stopping takes at most besides the drain: the sums of `runStopSteps` in src/coordinator and
 * src/worker.
 */
const stopSecondsMax = { coordinator: 28, "query-api": 28, worker: 30 };

test("a pod has the time to drain and to stop before it is killed", async () => {
  for (const workload of workloads) {
    const container = mainOf(workload);
    const { options } = await parseContainer(container);
    const sleepSeconds = Number(at(container, "lifecycle", "preStop", "sleep", "seconds") ?? 0);
    const name = container.name as keyof typeof stopSecondsMax;
    const needed = sleepSeconds + Number(options.drainTimeout) + stopSecondsMax[name];
    assert.ok(Number(workload.pod.terminationGracePeriodSeconds) >= needed, name);
  }
});

test("the disk that a worker may use is there", async () => {
  const worker = workloads.find((each) => mainOf(each).name === "worker") ?? assert.fail();
  const { options } = await parseContainer(mainOf(worker));
  const data = listAt(worker.pod, "volumes").find(({ name }) => name === "data");
  const there = parseBytes(`${textAt(data, "emptyDir", "sizeLimit")}B`);
  assert.ok((there ?? 0) > Number(options.diskLimit));
});

test("no container runs as root, writes to its image, or has a capability or a service account's token", () => {
  for (const { pod, containers, initContainers } of workloads) {
    assert.equal(pod.automountServiceAccountToken, false);
    const { runAsNonRoot, runAsUser, seccompProfile } = nodeAt(pod, "securityContext");
    assert.deepEqual([runAsNonRoot, runAsUser], [true, 1000]);
    assert.deepEqual(seccompProfile, { type: "RuntimeDefault" });
    for (const container of [...containers, ...initContainers]) {
      assert.deepEqual(container.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      for (const path of ["/data", "/tmp"]) {
        assert.ok(listAt(container, "volumeMounts").some(({ mountPath }) => mountPath === path));
      }
      assert.ok(at(container, "resources", "limits", "memory") !== undefined);
    }
  }
});

function textsOf(args: unknown, pattern: RegExp): readonly string[] {
  return ((args ?? []) as readonly string[]).flatMap((arg) => pattern.exec(arg)?.[1] ?? []);
}
