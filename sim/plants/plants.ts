/**
 * Named bugs. Each replaces one production part by a broken one, at a seam; production code knows nothing of
 * them. A checker that lets its bug through is worthless, and a test says which.
 */
import {
  ControllerNode,
  type ControllerNodeOptions,
} from "../../src/coordinator/controller-node.ts";
import type { Invariant } from "../checks/verdict.ts";
import { productionSeams, type Seams } from "../seams.ts";
import {
  ForgettingBoard,
  ForgivingBoard,
  LoyalManager,
  TwiceCommittingBoard,
} from "./broken-boards.ts";
import { BrokenFetcher, TrustingFetcher } from "./broken-fetchers.ts";
import {
  DoublingFlow,
  ForgetfulFlow,
  GullibleFetcher,
  HastyFlow,
  StammeringFlow,
  UnstableLake,
} from "./broken-promql.ts";
import {
  AdmissionDeafPool,
  acceptAnyEpoch,
  acceptAnyLease,
  ContentEndpoint,
  FlatteringPool,
  LossDeafPool,
  PatientEndpoint,
  PatientPool,
  SilentPool,
  WishDeafPool,
} from "./broken-sessions.ts";
import {
  believeRegistrations,
  forgetfulWatch,
  forgetLog,
  StubbornKeeper,
  storeWith,
} from "./broken-stores.ts";

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

class ClingingController extends ControllerNode {
  constructor(options: ControllerNodeOptions) {
    super({ ...options, stepDownMs: 3_600_000 });
  }
}

class UnendingController extends ControllerNode {
  override stop(): Promise<void> {
    return new Promise(() => undefined);
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
      SessionPool: LossDeafPool,
    },
  }),
  plant("active-without-answer", "a lost worker is still shown as ACTIVE", ["I2"], {
    controllerParts: { SessionPool: FlatteringPool },
  }),
  plant("change-unnoticed", "membership does not hear of changes", ["I2"], {
    controllerParts: { SessionPool: SilentPool },
  }),
  plant("drain-ignored", "workers are not told to drain", ["I2", "I13"], {
    controllerParts: { SessionPool: WishDeafPool },
  }),
  plant("work-to-draining", "admission is not heard of", ["I3"], {
    controllerParts: {
      SessionPool: AdmissionDeafPool,
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
  plant("lease-overstayed", "a coordinator acts on a lease that has expired", ["I6"], {
    controllerParts: { LeaseKeeper: StubbornKeeper },
  }),
  plant("lease-outlived", "a coordinator keeps its sessions without a lease", ["I11"], {
    ControllerNode: ClingingController,
  }),
  plant("stale-lease-welcomed", "workers let any coordinator in", ["I11"], {
    accept: acceptAnyLease,
  }),
  plant("watch-event-skipped", "a subscriber is not told of every change", ["I7"], {
    watch: forgetfulWatch,
  }),
  plant("poke-lost", "nobody is told that something was committed", ["I7", "I2"], {
    store: storeWith(() => ({ onPoke: () => () => undefined })),
  }),
  plant("log-append-skipped", "a change is missing from the log", ["I7"], {
    store: storeWith(forgetLog),
  }),
  plant("registered-active", "a worker is ACTIVE as soon as it registers", ["I1"], {
    store: storeWith(believeRegistrations),
  }),
  plant("slow-detection", "eight missed heartbeats are not yet a failure", ["I2", "I3"], {
    controllerParts: { SessionPool: PatientPool },
  }),
  plant("silence-tolerated", "a worker waits a minute for a silent controller", ["I5"], {
    workerParts: { WorkerEndpoint: PatientEndpoint },
  }),
  plant("never-reregisters", "a worker that was dropped while cut off stays away", ["I13"], {
    workerParts: { WorkerEndpoint: ContentEndpoint },
  }),
  plant("shutdown-hangs", "a controller does not end when it is told to", ["I15"], {
    ControllerNode: UnendingController,
  }),
  plant("unexpected-exception", "an error that nobody catches", ["I14"], {
    Fetcher: BrokenFetcher,
  }),
  plant("checksum-ignored", "what was fetched is not verified", ["I8", "I16"], {
    Fetcher: TrustingFetcher,
  }),
  plant("poison-forgiven", "no work is ever held to be poisonous", ["I9"], {
    Board: ForgivingBoard,
  }),
  plant("shard-dropped", "a merge leaves out what a shard found", ["I16"], {
    EvalFlow: ForgetfulFlow,
  }),
  plant("shard-counted-twice", "a shard's partial sums are added a second time", ["I16"], {
    EvalFlow: DoublingFlow,
  }),
  plant("spans-out-of-order", "a later span is told before an earlier one", ["I17"], {
    EvalFlow: HastyFlow,
  }),
  plant("span-told-twice", "a span is told a second time", ["I17"], {
    EvalFlow: StammeringFlow,
  }),
  plant("head-moved-on", "a leaf reads a younger head than its query has seen", ["I16"], {
    Lake: UnstableLake,
  }),
  plant("corrupt-leaf-accepted", "a leaf's artifact is not verified", ["I16"], {
    Fetcher: GullibleFetcher,
  }),
];

export function findPlant(name: string): Plant | undefined {
  return plants.find((candidate) => candidate.name === name);
}
