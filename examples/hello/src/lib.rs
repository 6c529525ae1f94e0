//! One request, one check.
use nettare::{Request, Result, check, env};

nettare::main!(hello);

fn hello() -> Result {
    let response = Request::get(env("TARGET")? + "/products?count=3")
        .name("/products")
        .send()?;
    check("status is 200", || response.status() == 200);
    Ok(())
}
