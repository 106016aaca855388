/**
 * Named bugs, each of which replaces one production part at a seam; production code does not know
 * them. A checker that misses its bug is worthless, and a test says which.
 */
import {
  ControllerNode,
  type ControllerNodeOptions,
} from "../../src/ground/work/node/controller-node.ts";
import type { Invariant } from "../checks/verdict.ts";
import { type DiskSeams, diskSeams } from "../disk/disk-seams.ts";
import type { DiskSuite, Suite } from "../plan.ts";
import { productionSeams, type Seams } from "../seams.ts";
import {
  ForgettingBoard,
  ForgivingBoard,
  LoyalManager,
  TwiceCommittingBoard,
} from "./broken-boards.ts";
import {
  commitLater,
  ForgivingLog,
  HastyLog,
  listAtOnce,
  putLater,
  replayUnsafely,
  syncAfterRename,
  syncAgain,
  syncOnly,
} from "./broken-disks.ts";
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
  DeafOrchestrator,
  forgetTheDead,
  giveUpEarly,
  goBack,
  loseShares,
  NoddingControl,
  StubbornWorker,
  skipSequences,
  storeEndingWith,
} from "./broken-runs.ts";
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
  forgetQueries,
  StubbornKeeper,
  storeWith,
} from "./broken-stores.ts";

import {
  acceptOlder,
  acknowledgeEarly,
  missZombies,
  PiecemealCatalog,
  RestlessHost,
  releaseNames,
  releaseTwice,
} from "./broken-streams.ts";
import {
  BlindLink,
  CredulousClaims,
  DeafClaims,
  ForgetfulClaims,
  GreedyUpkeep,
  HastyClaims,
  ImpatientUpkeep,
  IncurableScheduler,
  PinDeafUpkeep,
  ScatteringScheduler,
} from "./broken-tables.ts";

export interface Plant {
  readonly name: string;
  /** What is broken, for people. */
  readonly what: string;
  /** The invariants that it is expected to violate. */
  readonly violates: readonly Invariant[];
  readonly seams: Seams;
  /** In which the bug shows. */
  readonly suite: Suite;
  /** Set for a bug of a disk suite. */
  readonly disk?: DiskSeams;
}

function plant(
  name: string,
  what: string,
  violates: readonly Invariant[],
  seams: Partial<Seams>,
): Plant {
  return { name, what, violates, seams: { ...productionSeams, ...seams }, suite: "fleet" };
}

function tablesPlant(
  name: string,
  what: string,
  violates: readonly Invariant[],
  seams: Partial<Seams>,
): Plant {
  return { ...plant(name, what, violates, seams), suite: "tables" };
}

function loadPlant(
  name: string,
  what: string,
  violates: readonly Invariant[],
  seams: Partial<Seams>,
): Plant {
  return { ...plant(name, what, violates, seams), suite: "load" };
}

function streamsPlant(
  name: string,
  what: string,
  violates: readonly Invariant[],
  seams: Partial<Seams>,
): Plant {
  return { ...plant(name, what, violates, seams), suite: "streams" };
}

function diskPlant(
  suite: DiskSuite,
  name: string,
  what: string,
  violates: readonly Invariant[],
  seams: Partial<DiskSeams>,
): Plant {
  const disk = { ...diskSeams, ...seams };
  return { ...plant(name, what, violates, {}), suite, disk };
}

function withStreams(streams: Partial<Seams["streams"]>): Partial<Seams> {
  return { streams: { ...productionSeams.streams, ...streams } };
}

function withLoad(load: Partial<Seams["load"]>): Partial<Seams> {
  return { load: { ...productionSeams.load, ...load } };
}

function withParts(parts: Partial<Seams["tablesParts"]>): Partial<Seams> {
  return { tablesParts: { ...productionSeams.tablesParts, ...parts } };
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
  tablesPlant(
    "publish-not-guarded",
    "a refresh is published whoever holds the claim by now",
    ["I18"],
    withParts({ StoreRefreshClaims: CredulousClaims }),
  ),
  tablesPlant(
    "request-forgotten",
    "whoever ends a refresh takes along what was asked for meanwhile",
    ["I21"],
    withParts({ StoreRefreshClaims: ForgetfulClaims }),
  ),
  tablesPlant(
    "heartbeat-ignored",
    "a claim that is extended ends as if it were not",
    ["I18"],
    withParts({ StoreRefreshClaims: DeafClaims }),
  ),
  tablesPlant(
    "snapshots-mixed",
    "a table reads its sources as they are, not as of its target",
    ["I20"],
    withParts({ StoreRefreshClaims: HastyClaims }),
  ),
  tablesPlant(
    "round-scattered",
    "tables of one round get different targets",
    ["I22"],
    withParts({ RefreshScheduler: ScatteringScheduler }),
  ),
  tablesPlant(
    "never-cured",
    "a table that failed is not tried again when its sources change",
    ["I40"],
    withParts({ RefreshScheduler: IncurableScheduler }),
  ),
  tablesPlant(
    "write-swept",
    "files that are being written are taken for orphans",
    ["I23"],
    withParts({ UpkeepLoop: ImpatientUpkeep }),
  ),
  tablesPlant(
    "pins-ignored",
    "snapshots expire that refreshes still read",
    ["I23"],
    withParts({ UpkeepLoop: PinDeafUpkeep }),
  ),
  tablesPlant(
    "file-in-use-deleted",
    "old files of the lake are taken for orphans",
    ["I23"],
    withParts({ UpkeepLoop: GreedyUpkeep }),
  ),
  tablesPlant("orphans-kept", "nobody looks for files that were never committed", ["I24"], {
    ObjectLink: BlindLink,
  }),
  tablesPlant("merge-garbled", "compaction writes one row in the place of another", ["I20"], {
    merge: (rows) => rows.map((row, index) => ({ ...row, value: (rows[index | 1] ?? row).value })),
  }),
  loadPlant("sequence-skipped", "numbers of events are taken and not used", ["I28"], {
    store: storeEndingWith(skipSequences),
  }),
  loadPlant("phase-goes-back", "a run that warms up is prepared again", ["I27"], {
    store: storeEndingWith(goBack),
  }),
  loadPlant("share-lost", "a worker that is lost takes its share along", ["I29"], {
    store: storeEndingWith(loseShares),
  }),
  loadPlant("dead-not-counted", "who died is not in the final count", ["I31", "I32"], {
    store: storeEndingWith(forgetTheDead),
  }),
  loadPlant("given-up-early", "twenty seconds of silence are a death", ["I32"], {
    store: storeEndingWith(giveUpEarly),
  }),
  loadPlant(
    "snapshot-not-stored",
    "what a worker says is acknowledged and not kept",
    ["I32"],
    withLoad({ StoreWorkerControl: NoddingControl }),
  ),
  loadPlant(
    "run-left-alone",
    "who takes over does not see to runs of others",
    ["I33", "I30", "I29"],
    withLoad({ RunOrchestrator: DeafOrchestrator }),
  ),
  loadPlant(
    "worker-never-ends",
    "a load worker hears neither STOP nor signals, and does not watch itself",
    ["I30"],
    withLoad({ LoadWorker: StubbornWorker }),
  ),
  diskPlant("log", "log-not-synced", "the log's datasync is left out", ["I34", "I36", "I37"], {
    files: syncOnly((path) => !path.endsWith(".wal")),
  }),
  diskPlant("log", "log-name-not-synced", "the log's directory is not synced", ["I36", "I37"], {
    files: syncOnly((path) => !path.endsWith("/wal")),
  }),
  diskPlant(
    "log",
    "listed-before-named",
    "a log file is listed before its name is synced",
    ["I36"],
    {
      files: listAtOnce,
    },
  ),
  diskPlant("log", "segments-not-synced", "the files of segments are not synced", ["I36"], {
    files: syncOnly((path) => !path.endsWith(".parquet")),
  }),
  diskPlant("log", "segment-names-not-synced", "the lake's directory is not synced", ["I36"], {
    files: syncOnly((path) => !path.endsWith("/segments")),
  }),
  diskPlant("log", "parents-not-synced", "directories on the way are not synced", ["I34", "I36"], {
    files: syncOnly((path) => !/^\/(data(\/lake|\/controllers(\/c)?)?)?$/.test(path)),
  }),
  diskPlant(
    "log",
    "replay-not-synced",
    "what a start replays is not synced",
    ["I34", "I36", "I37"],
    {
      files: replayUnsafely,
    },
  ),
  diskPlant(
    "log",
    "failure-not-sticky",
    "after a failed sync the log goes on",
    ["I34", "I36", "I37", "I38"],
    {
      openLog: (options) => new ForgivingLog(options),
    },
  ),
  diskPlant("log", "failed-sync-repeated", "a failed sync is tried again", ["I34", "I36", "I37"], {
    files: syncAgain,
  }),
  diskPlant("log", "acknowledged-before-sync", "appends do not wait for the disk", ["I34"], {
    openLog: (options) => new HastyLog(options),
  }),
  diskPlant("log", "log-deleted-early", "the log goes before its segments are committed", ["I34"], {
    publish: commitLater(),
  }),
  diskPlant("disk", "lake-file-not-synced", "a file is put without a sync", ["I36"], {
    files: syncOnly((path) => !path.endsWith(".parquet")),
  }),
  diskPlant("disk", "lake-name-not-synced", "a file's directory is not synced", ["I36"], {
    files: syncOnly((path) => !path.includes("/main")),
  }),
  diskPlant("disk", "renamed-before-sync", "a file is synced after its rename", ["I36"], {
    files: syncAfterRename,
  }),
  streamsPlant("lost-rollback", "a refused bundle leaves what went before the refusal", ["I49"], {
    ...withStreams({ StreamCatalog: PiecemealCatalog }),
  }),
  streamsPlant("early-name-release", "a query loses its name when it begins to stop", ["I44"], {
    store: storeWith(releaseNames),
  }),
  streamsPlant("double-slot-release", "slots that are given back count twice", ["I43"], {
    store: storeWith(releaseTwice),
  }),
  streamsPlant(
    "missed-zombie",
    "fragments of older epochs on workers are not seen",
    ["I50", "I44"],
    withStreams({ pool: missZombies }),
  ),
  streamsPlant(
    "query-event-skipped",
    "a subscriber to queries is not told of every change",
    ["I48"],
    { watch: forgetQueries },
  ),
  streamsPlant(
    "start-after-drop",
    "a worker starts again what it was told to stop",
    ["I44", "I46", "I50"],
    withStreams({ Host: RestlessHost }),
  ),
  streamsPlant(
    "recorded-before-acknowledged",
    "a checkpoint is recorded before its last acknowledgement",
    ["I47", "I51"],
    withStreams({ pool: acknowledgeEarly }),
  ),
  streamsPlant(
    "older-epoch-accepted",
    "what an older epoch said of a checkpoint counts",
    ["I46", "I47"],
    withStreams({ pool: acceptOlder }),
  ),
  diskPlant("disk", "committed-before-data", "a commit names files that are not put yet", ["I36"], {
    objects: putLater,
  }),
];

export function findPlant(name: string): Plant | undefined {
  return plants.find((candidate) => candidate.name === name);
}
