/**
 * The content of a simulated disk: as programs see it (the page cache), and as a power loss would
 * leave it.
 *
 * A power loss keeps, loses or tears each unsynced write, independently of later ones. It keeps or
 * loses unsynced name changes, those of one name only in order; a rename is one change. A failed
 * sync decides at once which unsynced writes the disk has: programs still see all of them, but no
 * later sync brings back what was lost.
 */
import type { FileKind } from "../../src/ground/kernel/files.ts";
import type { Prng } from "../../src/ground/kernel/prng.ts";

/** What `write` put at a place, or where `truncate` cut. */
type Change =
  | { readonly kind: "write"; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: "truncate"; readonly length: number };

export class FileNode {
  readonly kind: FileKind = "file";
  /** The content as programs see it. */
  content: Buffer = Buffer.alloc(0);
  modifiedMs = 0;
  #onDisk: Buffer = Buffer.alloc(0);
  #changes: Change[] = [];

  get isSynced(): boolean {
    return this.#changes.length === 0 && this.#onDisk.equals(this.content);
  }

  /** Whether a power loss would leave the first `bytes` unchanged. */
  isSafeUpTo(bytes: number): boolean {
    const isLost = this.#changes.some((change) =>
      change.kind === "write" ? change.at < bytes : change.length < bytes,
    );
    return !isLost && this.#onDisk.subarray(0, bytes).equals(this.content.subarray(0, bytes));
  }

  change(change: Change): void {
    this.content = applied(this.content, change);
    this.#changes.push(change);
  }

  sync(): void {
    for (const change of this.#changes) this.#onDisk = applied(this.#onDisk, change);
    this.#changes = [];
  }

  failSync(prng: Prng): void {
    this.#onDisk = this.#afterPowerLoss(prng);
    this.#changes = [];
  }

  losePower(prng: Prng): void {
    this.content = this.#afterPowerLoss(prng);
    this.#onDisk = this.content;
    this.#changes = [];
  }

  #afterPowerLoss(prng: Prng): Buffer {
    let left = this.#onDisk;
    const keep = keepers[prng.below(keepers.length)] as number;
    for (const change of this.#changes) {
      const luck = prng.next();
      if (luck >= keep) continue;
      const isTorn = change.kind === "write" && keep < 1 && prng.next() < 0.4;
      left = applied(left, isTorn ? torn(change, prng) : change);
    }
    return left;
  }
}

/** The share of unsynced changes that survives a power loss. */
const keepers = [0, 0.5, 0.9, 1];

function torn(change: Change & { kind: "write" }, prng: Prng): Change {
  const { at, bytes } = change;
  if (prng.next() < 0.5) return { ...change, bytes: bytes.subarray(0, prng.below(bytes.length)) };
  const from = prng.below(bytes.length); // Its beginning is missing.
  return { ...change, at: at + from, bytes: bytes.subarray(from) };
}

function applied(content: Buffer, change: Change): Buffer {
  const isWrite = change.kind === "write";
  const length = isWrite
    ? Math.max(content.length, change.at + change.bytes.length)
    : change.length;
  const next = Buffer.alloc(length);
  content.copy(next, 0, 0, Math.min(content.length, length));
  if (isWrite) change.bytes.copy(next, change.at);
  return next;
}

export class DirectoryNode {
  readonly kind: FileKind = "directory";
  /** The entries as programs see them. */
  readonly entries = new Map<string, Node>();
  readonly onDisk = new Map<string, Node>();
  modifiedMs = 0;
}

export type Node = FileNode | DirectoryNode;

/** A name's new node; undefined when the name is removed. */
export interface NameChange {
  readonly directory: DirectoryNode;
  readonly name: string;
  readonly node: Node | undefined;
}

export class DiskImage {
  readonly root = new DirectoryNode();
  /** In order. Each is applied completely or not at all. */
  #unsynced: (readonly NameChange[])[] = [];

  /** Programs see the change at once. */
  changeNames(changes: readonly NameChange[]): void {
    for (const change of changes) apply(change.directory.entries, change);
    this.#unsynced.push(changes);
  }

  /** Makes the directory's names durable, with the changes that must come before. */
  syncNames(directory: DirectoryNode): void {
    const wanted = new Set<readonly NameChange[]>();
    for (const changes of this.#unsynced.toReversed()) {
      const isOwn = changes.some((change) => change.directory === directory);
      const isNeeded = [...wanted].some((later) => meet(changes, later));
      if (isOwn || isNeeded) wanted.add(changes);
    }
    const rest: (readonly NameChange[])[] = [];
    for (const changes of this.#unsynced) {
      if (!wanted.has(changes)) rest.push(changes);
      else for (const change of changes) apply(change.directory.onDisk, change);
    }
    this.#unsynced = rest;
  }

  /** What is left is what programs see from now on. */
  losePower(prng: Prng): void {
    const keep = keepers[prng.below(keepers.length)] as number;
    const lost: (readonly NameChange[])[] = [];
    for (const changes of this.#unsynced) {
      const isBlocked = lost.some((earlier) => meet(changes, earlier));
      if (isBlocked || prng.next() >= keep) lost.push(changes);
      else for (const change of changes) apply(change.directory.onDisk, change);
    }
    this.#unsynced = [];
    this.#settle(this.root, prng);
  }

  /** Whether a power loss would leave the file, or the directory and its content, unchanged. */
  isSafe(path: string): boolean {
    const node = this.findSafe(path);
    return node !== undefined && isSafeWithin(node);
  }

  /** The node of this name, if the name would survive a power loss; its content may not. */
  findSafe(path: string): Node | undefined {
    let at: Node = this.root;
    for (const name of partsOf(path)) {
      if (!(at instanceof DirectoryNode)) return undefined;
      const next: Node | undefined = at.entries.get(name);
      if (next === undefined || at.onDisk.get(name) !== next) return undefined;
      at = next;
    }
    return at;
  }

  find(path: string): Node | undefined {
    let at: Node | undefined = this.root;
    for (const name of partsOf(path)) {
      at = at instanceof DirectoryNode ? at.entries.get(name) : undefined;
      if (at === undefined) return undefined;
    }
    return at;
  }

  #settle(directory: DirectoryNode, prng: Prng): void {
    directory.entries.clear();
    for (const [name, node] of directory.onDisk) {
      directory.entries.set(name, node);
      if (node instanceof DirectoryNode) this.#settle(node, prng);
      else node.losePower(prng);
    }
  }
}

export function partsOf(path: string): readonly string[] {
  return path.split("/").filter((part) => part !== "");
}

function apply(entries: Map<string, Node>, { name, node }: NameChange): void {
  if (node === undefined) entries.delete(name);
  else entries.set(name, node);
}

function meet(some: readonly NameChange[], others: readonly NameChange[]): boolean {
  return some.some(({ directory, name }) =>
    others.some((other) => other.directory === directory && other.name === name),
  );
}

function isSafeWithin(node: Node): boolean {
  if (node instanceof FileNode) return node.isSynced;
  if (node.entries.size !== node.onDisk.size) return false;
  return [...node.entries].every(
    ([name, child]) => node.onDisk.get(name) === child && isSafeWithin(child),
  );
}
