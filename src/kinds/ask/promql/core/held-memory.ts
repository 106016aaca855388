/**
 * Where an evaluation says how much memory it is about to hold, before it allocates it. Columns have
 * an element for every step, whether there is a value or not: a few series at many steps are large.
 */
export interface HeldMemory {
  /** Throws where there is no room for so many bytes; then nothing is allocated. */
  take(bytes: number): void;
  /** So many of those taken are no longer held. */
  give(bytes: number): void;
}

export const unboundedMemory: HeldMemory = { take() {}, give() {} };

/** Of a series at every step: its kind and its value. */
export const stepBytes = 9;
/** Of a sample with its time, and its mark of staleness. */
export const sampleBytes = 17;
