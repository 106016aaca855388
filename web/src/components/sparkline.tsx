/** The last seconds of a number as a line, newest at the right, with a text for screen readers. */
interface SparklineProps {
  readonly samples: readonly number[];
  /** The number of samples that fill the width; fewer start further right. */
  readonly samplesMax: number;
  /** The value at the top; larger samples raise it. */
  readonly top: number;
  readonly label: string;
  readonly height?: number;
}

const width = 240;

export function Sparkline({ samples, samplesMax, top, label, height = 36 }: SparklineProps) {
  const scale = Math.max(top, ...samples);
  const offset = samplesMax - samples.length;
  const points = samples.map((sample, index) => {
    const x = ((offset + index) / (samplesMax - 1)) * width;
    const y = height - 1.5 - (sample / scale) * (height - 4);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  const left = ((offset / (samplesMax - 1)) * width).toFixed(1);
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${width} ${height}`}
      height={height}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <line x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} className="sparkline-base" />
      {points.length > 1 && (
        <>
          <polygon
            points={`${left},${height} ${points.join(" ")} ${width},${height}`}
            className="sparkline-area"
          />
          <polyline points={points.join(" ")} className="sparkline-line" />
        </>
      )}
    </svg>
  );
}
