/**
 * Named bugs. Each replaces one production part by a broken one, at a seam; production code knows nothing of
 * them. A checker that lets its bug through is worthless, and a test says which.
 */
import type {
  AcceptLink,
  Admission,
  ControllerFrame,
  Envelope,
  SessionView,
  WorkerListener,
} from "../../src/cluster/core/index.ts";
import { SessionPool } from "../../src/cluster/index.ts";
import type { LeaseEpoch, WorkerId } from "../../src/kernel/ids.ts";
import { WorkerWorkManager } from "../../src/queries/index.ts";
import type { CatalogTx, LeaseGrant, Store, Tx } from "../../src/store/index.ts";
import { type WatchEvent, type WatchOptions, watch } from "../../src/store/index.ts";
import { type BoardEffect, type BoardEvent, WorkBoard } from "../../src/workcoord/core/index.ts";
import type { Invariant } from "../checks/verdict.ts";
import { productionSeams, type Seams } from "../seams.ts";
import { SimFetcher } from "../world/sim-fetcher.ts";

export interface Plant {
  readonly name: string;
  /** What is broken, for people. */
  readonly what: string;
  /** The invariants that it is expected to violate. */
  readonly violates: readonly Invariant[];
  readonly seams: Seams;
}

function plant(
  name: string,
  what: string,
  violates: readonly Invariant[],
  seams: Partial<Seams>,
): Plant {
  return { name, what, violates, seams: { ...productionSeams, ...seams } };
}

/** Hands every frame on as if it were of the session that the link was opened for. */
function acceptAnyEpoch(accept: AcceptLink): AcceptLink {
  return (link) => {
    const handlers = accept(link);
    let epoch: Envelope<ControllerFrame>["epoch"] | undefined;
    return {
      onFrame: (envelope) => {
        epoch ??= envelope.epoch;
        handlers.onFrame({ ...envelope, epoch });
      },
      onClose: (reason) => handlers.onClose(reason),
    };
  };
}

/** Lets every coordinator in, however old its lease. */
function acceptAnyLease(accept: AcceptLink): AcceptLink {
  let newest = 1_000_000;
  return (link) => {
    const handlers = accept(link);
    return {
      onFrame: ({ epoch, frame }) => {
        newest += 1;
        const isCoordinator = frame.kind === "hello" && frame.role === "coordinator";
        const heard = isCoordinator ? { ...frame, leaseEpoch: newest as LeaseEpoch } : frame;
        handlers.onFrame({ epoch, frame: heard });
      },
      onClose: (reason) => handlers.onClose(reason),
    };
  };
}

class TwiceCommittingBoard extends WorkBoard {
  #count = 0;

  override step(event: BoardEvent): readonly BoardEffect[] {
    const effects = super.step(event);
    const committed = effects.find(({ kind }) => kind === "workCommitted");
    if (committed === undefined) return effects;
    this.#count += 1;
    return this.#count % 10 === 0 ? [committed, ...effects] : effects;
  }
}

/** Work that lost its worker is assigned to the next one, which never hears of it. */
class ForgettingBoard extends WorkBoard {
  override step(event: BoardEvent): readonly BoardEffect[] {
    const effects = super.step(event);
    if (event.kind !== "workerDown") return effects;
    return effects.filter(
      (effect) => effect.kind !== "send" || effect.command.kind !== "assignWork",
    );
  }
}

/** Forgives every loss at once, so that no work ever looks poisonous. */
class ForgivingBoard extends WorkBoard {
  override step(event: BoardEvent): readonly BoardEffect[] {
    if (event.kind !== "workerDown") return super.step(event);
    const worker = this.view().find(({ workerId }) => workerId === event.workerId);
    if (worker === undefined) return super.step(event);
    const { workerId, incarnation } = worker;
    const admission = { accepting: false, draining: true };
    return [
      ...super.step({ kind: "workerUp", workerId, incarnation, admission }),
      ...super.step(event),
    ];
  }
}

/** Shows a worker that was once live as live for ever. */
class FlatteringPool extends SessionPool {
  readonly #lastLive = new Map<WorkerId, SessionView>();

  override view(workerId: WorkerId): SessionView | undefined {
    const view = super.view(workerId);
    if (view?.live !== undefined) this.#lastLive.set(workerId, view);
    return view === undefined ? undefined : (this.#lastLive.get(workerId) ?? view);
  }

  override views(): readonly SessionView[] {
    return super.views().map((view) => {
      return view.workerId === undefined ? view : (this.view(view.workerId) ?? view);
    });
  }
}

/** Changes what the manager of work hears about workers. */
function poolHearing(change: (listener: WorkerListener) => WorkerListener): typeof SessionPool {
  return class extends SessionPool {
    override listen(listener: WorkerListener): () => void {
      return super.listen(change(listener));
    }
  };
}

function forward(listener: WorkerListener): WorkerListener {
  return {
    workerUp: (up) => listener.workerUp(up),
    workerAdmission: (workerId, admission) => listener.workerAdmission(workerId, admission),
    workerReport: (workerId, report) => listener.workerReport(workerId, report),
    workerFacts: (workerId, facts) => listener.workerFacts(workerId, facts),
    workerDown: (workerId, reason) => listener.workerDown(workerId, reason),
  };
}

const open: Admission = { accepting: true, draining: false };

class LoyalManager extends WorkerWorkManager {
  override sessionLost(_session: string): void {}
}

/** A store whose catalog transactions are changed before they begin. */
function storeWith(
  change: (store: Store) => Partial<Pick<Store, "catalogTransaction" | "read">>,
): (store: Store) => Store {
  return (store) => {
    const changed = change(store);
    return {
      dialect: store.dialect,
      read: changed.read ?? (<T>(body: (tx: Tx) => Promise<T>) => store.read(body)),
      transaction: (body) => store.transaction(body),
      catalogTransaction:
        changed.catalogTransaction ??
        (<T>(body: (tx: CatalogTx) => Promise<T>, lease?: LeaseGrant) =>
          store.catalogTransaction(body, lease)),
      onPoke: (listener) => store.onPoke(listener),
      close: () => store.close(),
    };
  };
}

/** Every tenth change of the subscription is not told. */
async function* forgetfulWatch(store: Store, options: WatchOptions): AsyncGenerator<WatchEvent> {
  let count = 0;
  for await (const event of watch(store, options)) {
    count += 1;
    if (event.type === "SNAPSHOT" || count % 10 !== 0) yield event;
  }
}

class TrustingFetcher extends SimFetcher {
  protected override isIntact(): boolean {
    return true;
  }
}

export const plants: readonly Plant[] = [
  plant("epoch-check-skipped", "workers obey frames of older sessions", ["I10", "I5", "I1"], {
    accept: acceptAnyEpoch,
  }),
  plant("double-commit", "a work item is committed a second time", ["I4"], {
    Board: TwiceCommittingBoard,
  }),
  plant("lost-reassignment", "work of a lost worker moves on paper only", ["I12"], {
    Board: ForgettingBoard,
  }),
  plant("worker-loss-ignored", "work stays with a lost worker", ["I12"], {
    controllerParts: {
      SessionPool: poolHearing((listener) => ({
        ...forward(listener),
        workerDown: () => undefined,
      })),
    },
  }),
  plant("active-without-answer", "a lost worker is still shown as ACTIVE", ["I2"], {
    controllerParts: { SessionPool: FlatteringPool },
  }),
  plant("work-to-draining", "admission is not heard of", ["I3"], {
    controllerParts: {
      SessionPool: poolHearing((listener) => ({
        ...forward(listener),
        workerUp: (up) => listener.workerUp({ ...up, admission: open }),
        workerAdmission: (workerId) => listener.workerAdmission(workerId, open),
      })),
    },
  }),
  plant("orphan-kept", "a worker goes on with the work of a session that is over", ["I5"], {
    workerParts: { WorkerWorkManager: LoyalManager },
  }),
  plant("lease-not-fenced", "the store does not look at the lease", ["I6"], {
    store: storeWith((store) => ({
      catalogTransaction: (body) => store.catalogTransaction(body),
    })),
  }),
  plant("stale-lease-welcomed", "workers let any coordinator in", ["I11"], {
    accept: acceptAnyLease,
  }),
  plant("watch-event-skipped", "a subscriber is not told of every change", ["I7"], {
    watch: forgetfulWatch,
  }),
  plant("checksum-ignored", "what was fetched is not verified", ["I8"], {
    Fetcher: TrustingFetcher,
  }),
  plant("poison-forgiven", "no work is ever held to be poisonous", ["I9"], {
    Board: ForgivingBoard,
  }),
];

export function findPlant(name: string): Plant | undefined {
  return plants.find((candidate) => candidate.name === name);
}
