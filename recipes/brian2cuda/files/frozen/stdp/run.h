
void brian_start();
void brian_end();


