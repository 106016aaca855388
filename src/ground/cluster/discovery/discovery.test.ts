import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../kernel/logger.ts";
import { VirtualClock } from "../../kernel/testing/virtual-clock.ts";
import type { Target } from "../core/index.ts";
import { recordingLogger, workerId } from "../core/testing/cluster-fixture.ts";
import { registrationOf, StoreFixture } from "../store/testing/store-fixture.ts";
import { dropWorker, registerWorker } from "../store/workers.ts";
import { type DnsResolver, dnsDiscovery } from "./dns-discovery.ts";
import { staticDiscovery } from "./static-discovery.ts";
import { storeDiscovery } from "./store-discovery.ts";

const textOf = ({ address, workerId: id }: Target): string =>
  `${address.host}:${address.grpcPort}${id === undefined ? "" : ` ${id}`}`;

test("[CL26] static: the list, once", () => {
  const told: string[][] = [];
  const discovery = staticDiscovery([{ address: { host: "a", grpcPort: 1 } }]);
  discovery.start((targets) => told.push(targets.map(textOf)));
  discovery.stop();
  assert.deepEqual(told, [["a:1"]]);
});

test("[CL26] store: the rows, after every change of an address or registration, and of nothing else", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  const { clock, store } = cluster;
  const told: string[][] = [];
  const discovery = storeDiscovery({ store, clock, logger: silentLogger });
  discovery.start((targets) => told.push(targets.map(textOf)));
  await clock.advance(1);
  const registration = registrationOf(cluster.worker("worker-1"), "worker-1");
  await registerWorker(store, lease, registration);
  await clock.advance(1);
  await registerWorker(store, lease, registration); // One millisecond later: registered anew.
  await clock.advance(1);
  await store.catalogTransaction(async (tx) => {
    await tx.update("workers", "worker-1", { state: "ACTIVE", drain_requested: 1 });
  });
  await clock.advance(20_000);
  await store.catalogTransaction(async (tx) => {
    await tx.update("workers", "worker-1", { state: "UNREACHABLE" });
  });
  await dropWorker(store, lease, workerId("worker-1"));
  await clock.advance(1);
  assert.deepEqual(told, [[], ["memory:7001 worker-1"], ["memory:7001 worker-1"], []]);
  discovery.stop();
  await registerWorker(store, lease, registration);
  await clock.runAll(100);
  assert.equal(told.length, 4);
});

test("[CL26] store: a read that fails is tried again", async () => {
  const cluster = new StoreFixture();
  const lease = await cluster.grant("c");
  const { clock, store } = cluster;
  await registerWorker(store, lease, registrationOf(cluster.worker("worker-1"), "worker-1"));
  let failures = 2;
  const flaky: typeof store = {
    dialect: store.dialect,
    watched: store.watched,
    catalogTransaction: (body, grant) => store.catalogTransaction(body, grant),
    onPoke: (listener) => store.onPoke(listener),
    close: () => store.close(),
    transaction: (body) => store.transaction(body),
    read: (body) => {
      failures -= 1;
      return failures >= 0 ? Promise.reject(new Error("gone")) : store.read(body);
    },
  };
  const told: string[][] = [];
  const lines: string[] = [];
  const discovery = storeDiscovery({ store: flaky, clock, logger: recordingLogger(lines) });
  discovery.start((targets) => told.push(targets.map(textOf)));
  await clock.advance(11_000);
  assert.deepEqual(told, [["memory:7001 worker-1"]]);
  assert.equal(lines.length, 2);
  discovery.stop();
});

test("[CL26] DNS: SRV or addresses, asked again; order and repetition do not matter; a failure changes nothing", async () => {
  const clock = new VirtualClock();
  const answers: (readonly string[] | Error)[] = [
    ["10.0.0.1", "10.0.0.2"],
    ["10.0.0.2", "10.0.0.1", "10.0.0.1"],
    new Error("SERVFAIL"),
    ["10.0.0.2"],
    [],
  ];
  const lines: string[] = [];
  const resolver: DnsResolver = {
    addresses: (name) => {
      assert.equal(name, "workers.example");
      const answer = answers.shift() ?? [];
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    srv: (name) => {
      assert.equal(name, "_grpc._tcp.workers.example");
      return Promise.resolve([{ host: "w1.example", port: 5_000 }]);
    },
  };
  const logger = recordingLogger(lines);
  const told: string[][] = [];
  const byAddress = dnsDiscovery({ name: "workers.example", port: 4_700, clock, resolver, logger });
  byAddress.start((targets) => told.push(targets.map(textOf)));
  await clock.advance(45_000);
  assert.deepEqual(told, [["10.0.0.1:4700", "10.0.0.2:4700"], ["10.0.0.2:4700"], []]);
  assert.deepEqual(lines, ["DNS did not say where the workers are: SERVFAIL"]);
  byAddress.stop();

  const bySrv = dnsDiscovery({ name: "_grpc._tcp.workers.example", clock, resolver, logger });
  bySrv.start((targets) => told.push(targets.map(textOf)));
  await clock.advance(1);
  assert.deepEqual(told.at(-1), ["w1.example:5000"]);
  bySrv.stop();
  assert.equal(clock.pendingCount, 0);
});
