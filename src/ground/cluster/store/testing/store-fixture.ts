/** A cluster in virtual time with a control store, a lease and a coordinator's membership. */

import type { Incarnation, LeaseEpoch } from "../../../kernel/ids.ts";
import { silentLogger } from "../../../kernel/logger.ts";
import { createPrng } from "../../../kernel/prng.ts";
import {
  createSharedSqlite,
  type LeaseGrant,
  openSimStore,
  type Store,
} from "../../../store/index.ts";
import type { Discovery, SessionPool } from "../../core/index.ts";
import {
  ClusterFixture,
  type FixtureWorker,
  workerId,
} from "../../core/testing/cluster-fixture.ts";
import { storeDiscovery } from "../../discovery/store-discovery.ts";
import { Membership } from "../membership.ts";
import type { WorkerRegistration } from "../workers.ts";

export class StoreFixture extends ClusterFixture {
  readonly database = createSharedSqlite(() => this.clock.wallMs());
  readonly store: Store = openSimStore({ database: this.database });

  /** Takes the lease from its holder. */
  async grant(holder: string): Promise<LeaseGrant> {
    const expires_at_ms = this.clock.wallMs() + 1_000_000;
    return await this.store.transaction(async ({ db }) => {
      const old = await db.selectFrom("coordinator_leases").selectAll().executeTakeFirst();
      const epoch = (old?.epoch ?? 0) + 1;
      const row = { name: "coordinator", holder, epoch, expires_at_ms, api_url: "" };
      if (old === undefined) await db.insertInto("coordinator_leases").values(row).execute();
      else await db.updateTable("coordinator_leases").set(row).execute();
      return { name: row.name, holder, epoch: epoch as LeaseEpoch };
    });
  }

  /** A coordinator whose lease the test grants and revokes. */
  coordinator(options: { readonly discovery?: Discovery } = {}): FixtureCoordinator {
    const held: { lease: LeaseGrant | undefined } = { lease: undefined };
    const store = openSimStore({ database: this.database });
    const { clock } = this;
    const pool = this.pool("coordinator", {
      leaseEpoch: () => held.lease?.epoch ?? (0 as LeaseEpoch),
    });
    const membership = new Membership({
      store,
      lease: () => held.lease,
      pool,
      discovery: options.discovery ?? storeDiscovery({ store, clock, logger: silentLogger }),
      clock,
      prng: createPrng("membership"),
      logger: silentLogger,
    });
    membership.start();
    const lead = (lease: LeaseGrant | undefined): void => {
      held.lease = lease;
      membership.leaseChanged();
    };
    return { pool, membership, lead };
  }

  /** `state reason accepting/draining` of each worker. */
  async rows(): Promise<Record<string, string>> {
    const rows = await this.store.read(({ db }) =>
      db.selectFrom("workers").selectAll().orderBy("worker_id").execute(),
    );
    return Object.fromEntries(
      rows.map((row) => [
        row.worker_id,
        `${row.state} (${row.state_reason}) accepting=${row.accepting_work} draining=${row.draining}`,
      ]),
    );
  }

  /** `op key state` of every change so far. */
  async log(): Promise<string[]> {
    const changes = await this.store.read(({ db }) =>
      db.selectFrom("catalog_changes").selectAll().orderBy("revision").execute(),
    );
    return changes.map(({ op, row_key, row_json }) => {
      const { state } = JSON.parse(row_json) as { state: string };
      return `${op} ${row_key} ${state}`;
    });
  }
}

export interface FixtureCoordinator {
  readonly pool: SessionPool;
  readonly membership: Membership;
  lead(lease: LeaseGrant | undefined): void;
}

export function registrationOf(
  worker: FixtureWorker,
  name: string,
  options: Partial<WorkerRegistration> = {},
): WorkerRegistration {
  return {
    workerId: workerId(name),
    hostName: worker.address.host,
    grpcPort: worker.port,
    dataPort: worker.port + 1_000,
    capacity: 4,
    incarnation: `${name}-${worker.port}` as Incarnation,
    softwareVersion: "test",
    ...options,
  };
}
