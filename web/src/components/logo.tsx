/**
 * A capstan seen from the side: the bars that many hands push, the drumhead, the barrel, the base.
 */
export function Logo({ size = 22 }: { readonly size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="7" fill="#0b7285" />
      <g fill="#fff">
        <rect x="3.5" y="8.1" width="25" height="2.8" rx="1.4" />
        <rect x="9" y="5.5" width="14" height="8" rx="2.2" />
        <path d="M11 14.6h10c-2.6 3-2.6 5.4 0 8.4H11c2.6-3 2.6-5.4 0-8.4Z" />
        <rect x="7.5" y="24" width="17" height="3" rx="1.4" />
      </g>
    </svg>
  );
}
