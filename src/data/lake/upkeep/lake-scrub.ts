/**
 * Reads the lake's files whole, slowly, and compares them with their checksums. Damage is noted in
 * the store, logged once, and shown in the lake's health until the file is sound again. Rules: LK51
 * and LK52.
 */
import { AssertionError, messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import type { Logger } from "../../../ground/kernel/logger.ts";
import {
  decideScrub,
  isMissingNote,
  missingNote,
  type ScrubLimits,
  Suspicions,
  scrubLimitsDefault,
} from "../../../ground/kernel/scrub.ts";
import type { Store } from "../../../ground/store/index.ts";
import type { ObjectStore } from "../core/index.ts";
import { showCrc32 } from "../objects/file-verifier.ts";
import {
  type ChecksummedFile,
  forgetChecksums,
  keepScrubbed,
  readChecksummedFiles,
  type Scrubbed,
} from "../store/file-checksums.ts";

export interface DamagedFile {
  readonly table: string;
  readonly path: string;
  readonly damage: string;
}

/** The condition of all files after a round. */
export interface LakeCondition {
  readonly damaged: readonly DamagedFile[];
  readonly unverified: number;
  readonly files: number;
  /** The number of error texts of queries about files not read since. */
  readonly suspected: number;
}

export interface LakeScrubOptions {
  readonly store: Store;
  readonly objects: Pick<ObjectStore, "checksum" | "stat">;
  readonly logger: Logger;
  readonly limits?: Partial<ScrubLimits>;
  /** Called after every round. */
  readonly onCondition?: (condition: LakeCondition) => void;
}

type Judged = { readonly file: ChecksummedFile } & (
  | { readonly kind: "sound" | "unknown" }
  | { readonly kind: "filled"; readonly crc32: number }
  | { readonly kind: "damaged"; readonly damage: string }
);

export class LakeScrub {
  readonly #options: LakeScrubOptions;
  readonly #limits: ScrubLimits;
  readonly #suspicions = new Suspicions();
  /** Files without a checksum and with a wrong size, which have no row to note it in. */
  #unfit = new Map<number, string>();

  constructor(options: LakeScrubOptions) {
    this.#options = options;
    this.#limits = { ...scrubLimitsDefault, ...options.limits };
  }

  /** Reads the files that the error text names in the next round. */
  suspect(text: string): void {
    this.#suspicions.add(text);
  }

  /** Returns the number of files read. */
  async run(signal: AbortSignal): Promise<number> {
    const { store, onCondition } = this.#options;
    await forgetChecksums(store);
    const { nowMs, files } = await store.read(readChecksummedFiles);
    const { texts } = this.#suspicions;
    const candidates = files.map((file) => ({
      ...file,
      isSuspected: texts.some((text) => text.includes(file.path)),
      isDamaged: file.damage !== undefined,
    }));
    const chosen = decideScrub(candidates, nowMs, this.#limits);
    const judged: Judged[] = [];
    for (const file of chosen) {
      if (signal.aborted) break;
      judged.push(await this.#judge(file, signal));
    }
    await keepScrubbed(store, judged.flatMap(rowOf));
    this.#tell(judged);
    const known = judged.filter(({ kind }) => kind !== "unknown");
    const read = new Set(known.map(({ file }) => file.path));
    const unread = candidates.filter(({ isSuspected, path }) => isSuspected && !read.has(path));
    const names = unread.map(({ path }) => path);
    this.#suspicions.settle(texts, names);
    onCondition?.(this.#condition(files, judged));
    return judged.length;
  }

  async #judge(file: ChecksummedFile, signal: AbortSignal): Promise<Judged> {
    const { objects, logger } = this.#options;
    try {
      const info = await objects.stat(file.path);
      if (info !== undefined && info.sizeBytes !== file.sizeBytes) {
        const damage = `it has ${info.sizeBytes} bytes instead of ${file.sizeBytes}`;
        return { file, kind: "damaged", damage };
      }
      const found = info === undefined ? undefined : await objects.checksum(file.path, signal);
      if (found === undefined) {
        const isStillNamed = await this.#isNamed(file); // Or deleted with its rows meanwhile.
        return isStillNamed
          ? { file, kind: "damaged", damage: `it${missingNote}` }
          : { file, kind: "unknown" };
      }
      if (file.crc32 === undefined) return { file, kind: "filled", crc32: found };
      if (found === file.crc32) return { file, kind: "sound" };
      const damage = `its checksum is ${showCrc32(found)}, it was ${showCrc32(file.crc32)}`;
      return { file, kind: "damaged", damage };
    } catch (thrown) {
      if (thrown instanceof AssertionError) throw thrown;
      if (thrown instanceof OperatingError && thrown.code === "data_corrupt") {
        return { file, kind: "damaged", damage: thrown.message.replace(/^.* is damaged: /, "") };
      }
      if (signal.aborted) return { file, kind: "unknown" };
      logger.warn({ file: file.path }, `a file of the lake was not verified: ${messageOf(thrown)}`);
      return { file, kind: "unknown" }; // Unreadable for now: what was known of it stays.
    }
  }

  async #isNamed({ fileId }: ChecksummedFile): Promise<boolean> {
    const { files } = await this.#options.store.read(readChecksummedFiles);
    return files.some((file) => file.fileId === fileId);
  }

  /** Logs once when a file is found damaged, and once when it is sound again. */
  #tell(judged: readonly Judged[]): void {
    const { logger } = this.#options;
    for (const each of judged) {
      const { file } = each;
      const was = file.damage ?? this.#unfit.get(file.fileId);
      const fields = { table: file.table, file: file.path };
      if (each.kind === "damaged") {
        const isMissing = isMissingNote(each.damage);
        const code = isMissing ? "store_corrupt" : "data_corrupt";
        const what = isMissing ? "missing" : `damaged: ${each.damage}`;
        if (was === undefined) logger.error({ ...fields, code }, `a file of the lake is ${what}`);
        if (file.crc32 === undefined) this.#unfit.set(file.fileId, each.damage);
      } else if (each.kind !== "unknown") {
        if (was !== undefined) logger.info(fields, "a file of the lake is sound again");
        this.#unfit.delete(file.fileId);
      }
    }
  }

  #condition(files: readonly ChecksummedFile[], judged: readonly Judged[]): LakeCondition {
    const now = new Map(judged.map((each) => [each.file.fileId, each]));
    const damaged: DamagedFile[] = [];
    let unverified = 0;
    for (const file of files) {
      const found = now.get(file.fileId);
      const isJudged = found !== undefined && found.kind !== "unknown";
      const before = file.damage ?? this.#unfit.get(file.fileId);
      const damage = isJudged ? (found.kind === "damaged" ? found.damage : undefined) : before;
      if (damage !== undefined) damaged.push({ table: file.table, path: file.path, damage });
      if (file.crc32 === undefined && found?.kind !== "filled") unverified += 1;
    }
    const suspected = this.#suspicions.texts.length;
    return { damaged, unverified, files: files.length, suspected };
  }
}

function rowOf(each: Judged): readonly Scrubbed[] {
  const { fileId, crc32 } = each.file;
  if (each.kind === "filled") return [{ fileId, crc32: each.crc32, damage: undefined }];
  if (crc32 === undefined || each.kind === "unknown") return [];
  return [{ fileId, crc32, damage: each.kind === "damaged" ? each.damage : undefined }];
}
