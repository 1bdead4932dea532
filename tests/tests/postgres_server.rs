//! The server of the tests itself: it starts as whoever we are, and it does not outlive us.

use std::path::Path;
use std::time::{Duration, Instant};

use deadline_tests::postgres::Server;
use sqlx::{Connection as _, PgConnection};

#[tokio::test]
async fn it_answers_restarts_and_leaves_nothing_behind() {
    let server = Server::start();
    let ask = async |sql: &'static str| {
        let mut connection = PgConnection::connect(&server.url()).await.unwrap();
        sqlx::query_scalar::<_, String>(sql)
            .fetch_one(&mut connection)
            .await
            .unwrap()
    };
    let folder = ask("SHOW data_directory").await;
    assert_eq!(ask("SELECT current_user::text").await, "postgres");
    server.restart();
    assert_eq!(ask("SHOW data_directory").await, folder);
    assert_eq!(server.database(), "test_0");
    drop(server);
    let since = Instant::now();
    while Path::new(&folder).exists() {
        assert!(
            since.elapsed() < Duration::from_secs(20),
            "{folder} is still there"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
