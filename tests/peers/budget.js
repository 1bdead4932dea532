// What is left of 1500 ms when nginx asks the API: it reads a request's body first, however slowly that comes.
function left(r) {
  const spent = Math.round(Number(r.variables.request_time) * 1000);
  return String(Math.max(1500 - spent, 0));
}

export default { left };
