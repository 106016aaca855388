/**
 * The write-ahead log: files `<term>-<generation>-<index>.wal` of framed records, and their list
 * (`log-list.ts`). Records that arrive during a write share the next one (group commit). Rules:
 * MH10 to MH13, MH17, MH21.
 *
 * Records are on the disk in the order given. A file is whole, synced and listed with its length
 * before the next is begun, so only the newest can have a torn end. Each frame says how much of its
 * file was synced before: a bad record below that is damage, one above was never acknowledged.
 *
 * After a failed write or sync nothing is acknowledged, because the state of the disk is unknown. A
 * full disk is different: records that found no space are refused but owed. They are written before
 * anything else, because the head has them.
 */
import { join } from "node:path";
import type { Clock, Timer } from "../../../../ground/kernel/clock.ts";
import { isDiskFull } from "../../../../ground/kernel/disk-full.ts";
import { assert, messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Files, OpenFile } from "../../../../ground/kernel/files.ts";
import { type ListedFile, logFileName } from "./log-list.ts";
import { encodeFrames, encodeIdentity, encodeMark } from "./wal-frames.ts";

/** With `everyMs`, a power loss may cost the records of that many milliseconds. */
export type SyncPolicy = "always" | { readonly everyMs: number };

export interface WalOptions {
  readonly files: Files;
  readonly directory: string;
  readonly clock: Clock;
  readonly sync: SyncPolicy;
  /** A longer file is closed. */
  readonly fileBytesMax: number;
  readonly term: number;
  readonly lineage: string;
  /** The files that were replayed; they are deleted with their generations. */
  readonly existing: readonly ListedFile[];
  /** Durably makes these the files of the log. */
  writeList(files: readonly ListedFile[]): Promise<void>;
  /**
   * Called between sync and acknowledgement. Throws `lease_lost` when somebody else has taken the
   * log over, and another error when that cannot be ruled out.
   */
  confirm(): Promise<void>;
  /**
   * Called when appends begin to be refused for want of space, and when they are accepted again.
   */
  readonly onRoom?: (refusal: OperatingError | undefined) => void;
}

/** How often to check for space again. */
const roomMs = 1_000;

interface Pending {
  readonly generation: number;
  readonly payload: Uint8Array | undefined;
  /** Whether to wait for the disk whatever the policy. */
  readonly isSync: boolean;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** The head's view of its log. */
export interface Log {
  readonly bytes: number;
  /** Why nothing is acknowledged any more. */
  readonly failure: OperatingError | undefined;
  /** Why nothing is accepted at the moment: the disk is full. */
  readonly refusal: OperatingError | undefined;
  /** Resolves when this record and all before it are safe. Without a payload it only waits. */
  append(generation: number, payload: Uint8Array | undefined): Promise<void>;
  /** Deletes the files of generations up to this one, whose records are in segments. */
  forget(generation: number): Promise<void>;
  /** Writes pending records; later appends are refused. Idempotent. */
  close(): Promise<void>;
}

export class Wal implements Log {
  readonly #options: WalOptions;
  #files: LogFile[];
  #listing: Promise<void> = Promise.resolve();
  #nextIndex: number;
  #pending: Pending[] = [];
  #writing: Promise<void> | undefined;
  #open: OpenLog | undefined;
  #failure: OperatingError | undefined;
  #timer: Timer | undefined;
  #isClosed = false;
  #wasOpened = false;
  /** Files that left the log but are not deleted yet. */
  #gone: readonly LogFile[] = [];
  /** The records of the current batch that are not in a file yet. */
  #unwritten: readonly Pending[] = [];
  /** Refused records that `#pay` writes when there is space. */
  #owed: readonly Pending[] = [];
  #refusal: OperatingError | undefined;
  #roomTimer: Timer | undefined;

  constructor(options: WalOptions) {
    this.#options = options;
    this.#files = options.existing.map((file) => ({
      ...file,
      bytes: file.bytes ?? 0,
      isOpen: false,
    }));
    this.#nextIndex = options.existing.reduce((most, { index }) => Math.max(most, index), -1) + 1;
  }

  get bytes(): number {
    return this.#files.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get failure(): OperatingError | undefined {
    return this.#failure;
  }

  get refusal(): OperatingError | undefined {
    return this.#refusal;
  }

  append(generation: number, payload: Uint8Array | undefined): Promise<void> {
    return this.#enqueue(generation, payload, this.#options.sync === "always");
  }

  /** Syncs everything given so far, whatever the policy. */
  sync(generation: number): Promise<void> {
    return this.#enqueue(generation, undefined, true);
  }

  async forget(generation: number): Promise<void> {
    const gone = this.#files.filter((file) => file.generation <= generation);
    if (gone.length === 0) return;
    const open = this.#open;
    assert(open === undefined || open.generation > generation, "the open file is not forgotten");
    this.#files = this.#files.filter((file) => file.generation > generation);
    this.#gone = [...this.#gone, ...gone];
    try {
      await this.#removeGone();
    } catch (thrown) {
      if (!isDiskFull(thrown)) throw thrown; // Retried with the next ones, or when there is space.
    }
  }

  async #removeGone(): Promise<void> {
    const gone = this.#gone;
    if (gone.length === 0) return;
    await this.#writeList(); // From here on the files are not part of the log.
    this.#gone = this.#gone.filter((file) => !gone.includes(file));
    const { files, directory } = this.#options;
    for (const { name } of gone) await files.unlink(join(directory, name));
    await files.sync(directory);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#roomTimer?.cancel();
    await this.#writing;
    try {
      await this.#closeFile();
      if (this.#failure === undefined && this.#wasOpened) await this.#writeList();
    } catch {
      // The next owner reads as far as the file is whole.
    }
  }

  #enqueue(generation: number, payload: Uint8Array | undefined, isSync: boolean): Promise<void> {
    const refusal = this.#failure ?? this.#refusal;
    if (refusal !== undefined) return Promise.reject(refusal);
    if (this.#isClosed) {
      return Promise.reject(new OperatingError("shutting_down", "never", "the log is closed"));
    }
    return new Promise((resolve, reject) => {
      this.#pending.push({ generation, payload, isSync, resolve, reject });
      this.#writing ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    while (this.#pending.length > 0) {
      const batch = this.#pending;
      this.#pending = [];
      try {
        await this.#commit(batch);
      } catch (thrown) {
        if (isDiskFull(thrown)) this.#owe(thrown, batch);
        else this.#fail(unwritable(thrown), batch);
        continue;
      }
      try {
        await this.#options.confirm();
        for (const { resolve } of batch) resolve();
      } catch (thrown) {
        assert(thrown instanceof OperatingError, "a confirmation fails with an operating error");
        if (thrown.retry === "never") this.#fail(thrown, batch);
        else for (const { reject } of batch) reject(thrown);
      }
    }
    this.#writing = undefined;
  }

  /** The disk is full: refuses the batch, and remembers what must be written later. */
  #owe(thrown: unknown, batch: readonly Pending[]): void {
    this.#refusal = noRoom(thrown);
    const refused = [...batch, ...this.#pending];
    this.#owed = [...this.#unwritten, ...this.#pending];
    this.#pending = [];
    for (const { reject } of refused) reject(this.#refusal);
    this.#options.onRoom?.(this.#refusal);
    this.#payLater();
  }

  #payLater(): void {
    if (this.#isClosed) return;
    this.#roomTimer = this.#options.clock.after(roomMs, () => {
      this.#writing = this.#pay();
    });
  }

  /** Writes and syncs the owed records, or finds the disk still full. */
  async #pay(): Promise<void> {
    let isBegun = false;
    try {
      await this.#removeGone();
      isBegun = true;
      await this.#commit(this.#owed);
      await this.#sync();
      this.#owed = [];
      this.#refusal = undefined;
      this.#options.onRoom?.(undefined);
    } catch (thrown) {
      if (isDiskFull(thrown)) {
        if (isBegun) this.#owed = this.#unwritten;
        this.#payLater();
      } else this.#fail(unwritable(thrown), []);
    }
    this.#writing = undefined;
  }

  /** Writes runs of one generation at once. */
  async #commit(batch: readonly Pending[]): Promise<void> {
    let start = 0;
    this.#unwritten = batch;
    while (start < batch.length) {
      const { generation } = batch[start] as Pending;
      let end = start;
      while (batch[end]?.generation === generation) end += 1;
      const payloads = batch.slice(start, end).flatMap(({ payload }) => payload ?? []);
      if (payloads.length > 0) await this.#write(generation, payloads);
      this.#unwritten = batch.slice(end);
      start = end;
    }
    // Earlier files were synced when they were closed.
    if (batch.some(({ isSync }) => isSync)) await this.#sync();
    else if (this.#options.sync !== "always") this.#syncLater(this.#options.sync.everyMs);
  }

  async #write(generation: number, payloads: readonly Uint8Array[]): Promise<void> {
    if (this.#open !== undefined && this.#isDone(this.#open, generation)) await this.#closeFile();
    this.#open ??= await this.#openFile(generation);
    const file = this.#open;
    const isFirst = file.entry.bytes === 0;
    const frames = isFirst ? [this.#identityOf(file.entry), ...payloads] : payloads;
    const bytes = encodeFrames(frames, file.syncedBytes);
    // A failed write may leave bytes; the next write begins with the same records and overwrites
    // them.
    file.isDirty = true;
    await file.handle.write(bytes, file.entry.bytes);
    file.entry.bytes += bytes.length;
  }

  /** The first frame of a file, which names it. */
  #identityOf({ name }: LogFile): Uint8Array {
    return encodeIdentity({ lineage: this.#options.lineage, name });
  }

  #isDone(file: OpenLog, generation: number): boolean {
    assert(generation >= file.generation, "generations of the log only grow");
    return generation > file.generation || file.entry.bytes >= this.#options.fileBytesMax;
  }

  async #openFile(generation: number): Promise<OpenLog> {
    const { files, directory, term } = this.#options;
    const index = this.#nextIndex;
    this.#nextIndex += 1;
    const name = logFileName(term, generation, index);
    const handle = await files.open(join(directory, name), "new");
    await synced(() => files.sync(directory)); // A file must exist before it is listed.
    const place = { name, generation, index };
    const entry: LogFile = { ...place, bytes: 0, hasGap: false, isNamed: true, isOpen: true };
    this.#files.push(entry);
    this.#wasOpened = true;
    try {
      await this.#writeList();
    } catch (thrown) {
      // It was not listed, so it was never part of the log.
      this.#files = this.#files.filter((file) => file !== entry);
      await handle.close();
      throw thrown;
    }
    return { generation, handle, entry, syncedBytes: 0, isDirty: false, isMarked: true };
  }

  async #closeFile(): Promise<void> {
    const file = this.#open;
    if (file === undefined) return;
    await this.#sync();
    this.#open = undefined;
    await file.handle.close();
    file.entry.bytes = file.syncedBytes; // The mark after it may be lost.
    file.entry.isOpen = false;
  }

  async #sync(): Promise<void> {
    const file = this.#open;
    if (file === undefined) return;
    const { entry } = file;
    if (file.isDirty) {
      const { bytes } = entry;
      await synced(() => file.handle.sync());
      file.isDirty = false;
      file.isMarked = false;
      file.syncedBytes = bytes;
    }
    if (file.isMarked) return;
    const mark = encodeMark(file.syncedBytes);
    await file.handle.write(mark, file.syncedBytes);
    entry.bytes = file.syncedBytes + mark.length;
    file.isMarked = true;
  }

  /** Lists are written in sequence: a seal may forget files while the next file is begun. */
  #writeList(): Promise<void> {
    const { writeList } = this.#options;
    const written = this.#listing.then(() =>
      writeList(
        this.#files.map(({ isOpen, bytes, ...file }) => ({
          ...file,
          bytes: isOpen ? undefined : bytes,
        })),
      ),
    );
    this.#listing = written.catch(() => undefined);
    return written;
  }

  #syncLater(everyMs: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = this.#options.clock.after(everyMs, () => {
      this.#timer = undefined;
      // Queued with other writes. A failure is reported by `failure`.
      this.sync(this.#open?.generation ?? 0).catch(() => undefined);
    });
  }

  /** Rejects this batch and all pending records. */
  #fail(error: OperatingError, batch: readonly Pending[]): void {
    this.#failure ??= error;
    for (const { reject } of [...batch, ...this.#pending]) reject(this.#failure);
    this.#pending = [];
  }
}

type LogFile = Omit<ListedFile, "bytes"> & { bytes: number; isOpen: boolean };

interface OpenLog {
  readonly generation: number;
  readonly handle: OpenFile;
  readonly entry: LogFile;
  syncedBytes: number;
  isDirty: boolean;
  /** Whether the mark of the last sync was written. */
  isMarked: boolean;
}

function unwritable(thrown: unknown): OperatingError {
  if ((thrown as NodeJS.ErrnoException).code === "ENOENT") {
    const message = "the directory of the metrics log is gone";
    return new OperatingError("data_dir_unusable", "never", message, { cause: thrown });
  }
  const isFull = isDiskFull(thrown instanceof SyncFailed ? thrown.cause : thrown);
  return new OperatingError(
    isFull ? "disk_full" : "store_unavailable",
    "backoff",
    `the write-ahead log cannot be written: ${messageOf(thrown)}`,
    { cause: thrown },
  );
}

/** A failed sync: everything written since the last one may be lost. */
class SyncFailed extends Error {}

async function synced(sync: () => Promise<void>): Promise<void> {
  try {
    await sync();
  } catch (thrown) {
    throw new SyncFailed(`a sync failed: ${messageOf(thrown)}`, { cause: thrown });
  }
}

function noRoom(cause: unknown): OperatingError {
  return new OperatingError("disk_full", "backoff", "the disk of the metrics log is full", {
    cause,
    hint: "Free some space on it: writes are taken again by themselves. Nothing that was acknowledged is lost.",
  });
}
