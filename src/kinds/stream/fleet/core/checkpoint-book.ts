/**
 * What the fragments of a run have said of its checkpoints: the newest is under way, and each
 * fragment answers it whenever it is triggered. A fragment that has ended answers with its last
 * state, which is stored with the first checkpoint that asks for it, and with what its sinks had
 * prepared until a checkpoint that it answered so is complete. Rules: SD7, SD32.
 */
import type { EncodedFragment, ManifestFragment, Prepared } from "../../run/core/index.ts";

interface Said {
  readonly prepared: Prepared;
  /** `undefined` while it is being stored. */
  state: ManifestFragment | undefined;
}

interface LastState {
  readonly encoded: EncodedFragment;
  stored: ManifestFragment | undefined;
  /** The first checkpoint that has it. */
  first: number | undefined;
}

export interface ToStore {
  readonly checkpoint: number;
  readonly state: EncodedFragment;
  readonly previous: ManifestFragment | undefined;
}

export interface ToSay {
  readonly checkpoint: number;
  readonly state: ManifestFragment;
  readonly prepared: Prepared;
}

export class CheckpointBook {
  #checkpoint = 0;
  /** The newest that was triggered here; the barriers of a newer one may be faster. */
  #triggered = 0;
  #completed = 0;
  /** Of the checkpoint under way, by fragment. */
  #said = new Map<string, Said>();
  /** Of the one before it, until it is known whether that is complete. */
  #before: { readonly checkpoint: number; readonly said: ReadonlyMap<string, Said> } | undefined;
  readonly #ended = new Map<string, LastState>();
  /** Each fragment in the last complete checkpoint. */
  readonly #base: Map<string, ManifestFragment>;

  constructor(restored: readonly ManifestFragment[] = []) {
    this.#base = new Map(restored.map((state) => [state.fragment, state]));
  }

  /** `isNew`: nobody has been told to begin it. */
  trigger(checkpoint: number): { isNew: boolean; store: ToStore[]; say: ToSay[] } {
    const isNew = checkpoint > this.#triggered;
    if (isNew) this.#triggered = checkpoint;
    this.#begin(checkpoint);
    const isThis = checkpoint === this.#checkpoint;
    return {
      isNew,
      say: isThis ? this.#sayings() : [],
      store: isNew && isThis ? this.#storeLast() : [],
    };
  }

  /** A state that the checkpoint under way has to have; else nothing. */
  acknowledged(checkpoint: number, state: EncodedFragment): ToStore[] {
    const { fragment, prepared } = state;
    this.#begin(checkpoint);
    if (checkpoint !== this.#checkpoint || this.#said.has(fragment)) return [];
    this.#said.set(fragment, { prepared, state: undefined });
    return [{ checkpoint, state, previous: this.#base.get(fragment) }];
  }

  /** Its last state, with what is to be stored for the checkpoint under way. */
  ended(state: EncodedFragment): ToStore[] {
    this.#ended.set(state.fragment, { encoded: state, stored: undefined, first: undefined });
    return this.#checkpoint > this.#completed ? this.#storeLast() : [];
  }

  stored(checkpoint: number, state: ManifestFragment): ToSay[] {
    const last = this.#ended.get(state.fragment);
    const said = this.#said.get(state.fragment);
    if (said !== undefined && said.state === undefined && checkpoint === this.#checkpoint) {
      said.state = state;
      return [{ checkpoint, state, prepared: said.prepared }];
    }
    // The last state was asked for by a checkpoint that a newer one has followed meanwhile.
    if (last?.first === undefined || last.stored !== undefined || last.first !== checkpoint) {
      return [];
    }
    last.stored = state;
    return this.#sayings().filter((saying) => saying.state === state);
  }

  /** `false`: it was known to be complete. */
  complete(checkpoint: number): boolean {
    if (checkpoint <= this.#completed) return false;
    this.#completed = checkpoint;
    const said = checkpoint === this.#checkpoint ? this.#said : this.#saidBefore(checkpoint);
    for (const [fragment, { state }] of said) {
      if (state !== undefined) this.#base.set(fragment, state);
    }
    return true;
  }

  /** A checkpoint that is newer than the one under way takes its place (SD32). */
  #begin(checkpoint: number): void {
    if (checkpoint <= this.#checkpoint) return;
    this.#before = { checkpoint: this.#checkpoint, said: this.#said };
    this.#checkpoint = checkpoint;
    this.#said = new Map();
  }

  #saidBefore(checkpoint: number): ReadonlyMap<string, Said> {
    return this.#before?.checkpoint === checkpoint ? this.#before.said : new Map();
  }

  #sayings(): ToSay[] {
    const checkpoint = this.#checkpoint;
    const said = Array.from(this.#said.values(), ({ state, prepared }) => ({ state, prepared }));
    const last = Array.from(this.#ended, ([fragment, { encoded, stored, first }]) => {
      const isCommitted = first !== undefined && first <= this.#completed;
      const prepared: Prepared = isCommitted ? new Map() : encoded.prepared;
      return { state: this.#said.has(fragment) ? undefined : stored, prepared };
    });
    return [...said, ...last].flatMap(({ state, prepared }) =>
      state === undefined ? [] : [{ checkpoint, state, prepared }],
    );
  }

  /** Last states that the checkpoint under way is the first to have. */
  #storeLast(): ToStore[] {
    const checkpoint = this.#checkpoint;
    return Array.from(this.#ended).flatMap(([fragment, last]): ToStore[] => {
      if (this.#said.has(fragment) || last.first !== undefined) return [];
      last.first = checkpoint;
      return [{ checkpoint, state: last.encoded, previous: this.#base.get(fragment) }];
    });
  }
}
