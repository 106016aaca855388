/**
 * Counts the memory that an evaluation is about to allocate. Columns have an element for every
 * step, with or without a value, so a few series at many steps are large.
 */
export interface HeldMemory {
  /** Throws when there is no room for these bytes; then nothing may be allocated. */
  take(bytes: number): void;
  /** Returns bytes that are no longer held. */
  give(bytes: number): void;
}

export const unboundedMemory: HeldMemory = { take() {}, give() {} };

/** Bytes of a series per step: its kind and its value. */
export const stepBytes = 9;
/** Bytes of a sample with its time and stale flag. */
export const sampleBytes = 17;
