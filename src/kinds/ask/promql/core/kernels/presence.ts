/**
 * Kernels that treat floats and histograms alike: counts, presence, and the first or last sample.
 */
import { type SampleColumns, stepAbsent, stepFloat } from "../model.ts";
import { withoutStale } from "./split-samples.ts";
import { type MutableSteps, putHistogram, type RangeKernel } from "./types.ts";
import { BoundsFinder, type WindowBounds, windowEdges } from "./windows.ts";

type PresenceBody = (samples: SampleColumns, bounds: WindowBounds, out: MutableSteps) => void;

const finder = new BoundsFinder();

function presenceKernel(body: PresenceBody): RangeKernel {
  return (samples, windows, _args, _metricName, out) => {
    const live = withoutStale(samples);
    body(live, finder.find(live.ts, live.count, windowEdges(windows)), out);
  };
}

export const countOverTime: RangeKernel = presenceKernel((_samples, { steps, lo, hi }, out) => {
  for (let step = 0; step < steps; step += 1) {
    const count = (hi[step] as number) - (lo[step] as number);
    out.kinds[step] = count > 0 ? stepFloat : stepAbsent;
    out.values[step] = count;
  }
});

export const presentOverTime: RangeKernel = presenceKernel((_samples, { steps, lo, hi }, out) => {
  for (let step = 0; step < steps; step += 1) {
    out.kinds[step] = (hi[step] as number) > (lo[step] as number) ? stepFloat : stepAbsent;
    out.values[step] = 1;
  }
});

/** The index of the sample that a window returns; only called for windows with samples. */
const firstIndex = ({ lo }: WindowBounds, step: number) => lo[step] as number;
const lastIndex = ({ hi }: WindowBounds, step: number) => (hi[step] as number) - 1;

function pickKernel(indexOf: typeof firstIndex): RangeKernel {
  return presenceKernel((samples, bounds, out) => {
    const { steps, lo, hi } = bounds;
    for (let step = 0; step < steps; step += 1) {
      if ((hi[step] as number) <= (lo[step] as number)) {
        out.kinds[step] = stepAbsent;
        continue;
      }
      const index = indexOf(bounds, step);
      const histogram = samples.histograms?.[index];
      if (histogram === undefined) {
        out.kinds[step] = stepFloat;
        out.values[step] = samples.values[index] as number;
      } else {
        putHistogram(out, step, histogram);
      }
    }
  });
}

function timeKernel(indexOf: typeof firstIndex): RangeKernel {
  return presenceKernel((samples, bounds, out) => {
    const { steps, lo, hi } = bounds;
    for (let step = 0; step < steps; step += 1) {
      if ((hi[step] as number) <= (lo[step] as number)) {
        out.kinds[step] = stepAbsent;
        continue;
      }
      out.kinds[step] = stepFloat;
      out.values[step] = (samples.ts[indexOf(bounds, step)] as number) / 1000;
    }
  });
}

export const firstOverTime: RangeKernel = pickKernel(firstIndex);
export const lastOverTime: RangeKernel = pickKernel(lastIndex);
export const tsOfFirstOverTime: RangeKernel = timeKernel(firstIndex);
export const tsOfLastOverTime: RangeKernel = timeKernel(lastIndex);
